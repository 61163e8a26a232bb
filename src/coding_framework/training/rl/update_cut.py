"""How the rows of a step are cut into optimizer steps of equal size."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class UpdateCut:
    """Equal pieces that verl can deal out, none of which consists of padding alone."""

    multiple: int
    """Rows of an optimizer step come in multiples of this: of the workers and of verl's group size."""
    update_rows: int | None
    """Wanted rows of one optimizer step; None: all of them."""

    def updates(self, rows: int) -> int:
        """Optimizer steps of one pass over so many rows."""
        if self.update_rows is None:
            return 1
        return max(1, math.ceil(rows / _up(self.update_rows, self.multiple)))

    def padded(self, rows: int) -> int:
        """So many rows they have to be filled up to."""
        return _up(rows, self.updates(rows) * self.multiple)


def _up(number: int, multiple: int) -> int:
    return math.ceil(number / multiple) * multiple
