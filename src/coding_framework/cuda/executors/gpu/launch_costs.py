"""Contexts come in two kinds, and times shall be taken in one of them.

On an H200 every launch takes 0.13 us longer in some contexts than in others, for as long as they live and on
whichever stream: three empty kernels behind a flush took 6.43 to 6.70 us in 19 of 50 contexts and 6.84 to
7.05 us in 31, and of two contexts that one process makes one after the other each may be of either kind. In a
kernel of 24 us with three launches that is 2 %. So what launches cost is measured in a fresh context, and one
of the slower kind is replaced by another.

What counts as slow is learned: the newest costs on this machine are kept in a file, and a context is of the
faster kind if no other of these was clearly faster. What both kinds cost changes a little in the course of
time, so old costs are forgotten. A card with one kind only keeps every context, once it has met a few.
"""

from __future__ import annotations

import json
from pathlib import Path

from coding_framework.cuda.executors.gpu.lease import machine_path

MAX_CONTEXTS = 8
"""The last of them is taken as it is. If four in ten are of the faster kind, 98 of 100 processes end with one
of these."""
_ENOUGH = 6
"""Costs that must be known before any context is trusted."""
_REMEMBERED = 16
_SPREAD = 0.035
"""Within one kind; the kinds are 6 % apart."""


class LaunchCosts:
    """Of the newest contexts on one device; used by whoever holds its lease alone."""

    def __init__(self, device_index: int) -> None:
        self._path: Path = machine_path(device_index, "launches")

    def is_of_the_faster_kind(self, cost_us: float) -> bool:
        """Whether a context with this cost should be kept; the cost is remembered."""
        known = [*self._read(), cost_us][-_REMEMBERED:]
        self._path.write_text(json.dumps(known))
        return len(known) >= _ENOUGH and cost_us <= (1 + _SPREAD) * min(known)

    def _read(self) -> list[float]:
        """Nothing, where the file is not there or is none of ours: then it is learned again."""
        try:
            return [float(cost) for cost in json.loads(self._path.read_text())]
        except (OSError, ValueError, TypeError):
            return []
