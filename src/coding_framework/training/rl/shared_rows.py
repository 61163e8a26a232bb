"""Which rows of an update are computed together, so that what they begin with is computed once.

The answers of a group share their prompt, and all prompts begin with the same instructions. Rows of one
prompt make a family; those whose prompt nobody else has make one together. A family is cut where a pass
would have more tokens than the memory holds.

Guaranteed: every row is in one pass, and which follows from the rows and what is asked alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from coding_framework.errors import TrainingError
from coding_framework.training.shared_beginning import shared_length

Tokens = tuple[int, ...]


def cut_into_passes(prompts: Sequence[Tokens], lengths: Sequence[int], most_tokens: int) -> list[list[int]]:
    """Rows of each pass; `lengths` are those of prompt and answer together."""
    found: list[list[int]] = []
    for family in _families(prompts):
        rows: list[int] = []
        for row in family:
            if rows and num_tokens(prompts, lengths, [*rows, row]) > most_tokens:
                found.append(rows)
                rows = []
            rows = [*rows, row]
        found.append(rows)
    return found


def cut_further(passes: Sequence[list[int]], wanted: int) -> list[list[int]]:
    """As many passes as are wanted, or as there are already: the largest are halved."""
    found = list(passes)
    while len(found) < wanted:
        largest = max(found, key=len)
        if len(largest) == 1:
            raise TrainingError(f"{len(found)} rows cannot make {wanted} passes")
        half = len(largest) // 2
        found.remove(largest)
        found += [largest[:half], largest[half:]]
    return found


def num_tokens(prompts: Sequence[Tokens], lengths: Sequence[int], rows: Sequence[int]) -> int:
    """That a pass of these rows computes."""
    shared = shared_length([prompts[row] for row in rows])
    return shared + sum(lengths[row] - shared for row in rows)


def _families(prompts: Sequence[Tokens]) -> Iterator[list[int]]:
    by_prompt: defaultdict[Tokens, list[int]] = defaultdict(list)
    for row, prompt in enumerate(prompts):
        by_prompt[prompt].append(row)
    yield from (rows for rows in by_prompt.values() if len(rows) > 1)
    single = [rows[0] for rows in by_prompt.values() if len(rows) == 1]
    if single:
        yield single
