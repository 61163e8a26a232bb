"""What prompts begin with together: it is computed once, in SFT and in the update of RL."""

from __future__ import annotations

from collections.abc import Sequence


def shared_length(prompts: Sequence[tuple[int, ...]]) -> int:
    """Tokens that all of these begin with, 0 of a single one; each keeps one of its own, which predicts its
    answer's first."""
    if len(prompts) == 1:
        return 0
    first, last = min(prompts), max(prompts)
    shortest = min(map(len, prompts))
    differing = (place for place in range(shortest - 1) if first[place] != last[place])
    return next(differing, shortest - 1)
