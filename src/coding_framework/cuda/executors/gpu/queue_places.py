"""Where among the launches on a stream the timed calls come.

How long the card takes to begin a launch goes by its number on the stream, in a pattern of four that is the
same in every process: on an H200 the second is 1.1 us slower than the first, the other two lie between them
(652 measurements; with it goes 44 % of what the times of one kernel scatter by). So every place of the four
has its turn, in a secret order, and none counts more than another.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

PATTERN = 4


@dataclass
class QueuePlaces:
    """Counts what is launched, and says what has to be launched besides."""

    launched: int = 0
    """Kernels and memsets so far; events and gates are none."""
    _turns: dict[str, list[int]] = field(default_factory=dict)

    def missing(self, side: str) -> int:
        """So many launches more, and the next call of this side comes where it is its turn to."""
        turns = self._turns.setdefault(side, [])
        if not turns:
            turns += random.sample(range(PATTERN), PATTERN)
        return (turns.pop() - self.launched) % PATTERN
