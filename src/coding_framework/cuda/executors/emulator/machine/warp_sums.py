"""A number for each warp of a chunk, and what the largest warp or block has of it.

Means hide who has the work: warps and blocks that idle would pull them down. These sums are exact.
"""

from __future__ import annotations

import numpy as np

from coding_framework.cuda.executors.emulator.dtypes import Array
from coding_framework.cuda.executors.emulator.machine.geometry import Geometry
from coding_framework.cuda.executors.emulator.machine.lanes import Lanes

Amount = int | float | Array
"""The same for every active warp, or (r, W) with zero where a warp is not active."""


class WarpSums:
    """What every warp of a chunk has run up; what all have in common is kept once."""

    def __init__(self, geometry: Geometry) -> None:
        self._common = 0.0
        self._each = np.zeros((geometry.num_blocks, geometry.warps_per_block))
        self._is_uneven = False
        """Whether warps of one block may differ."""

    def add(self, lanes: Lanes, amount: Amount) -> None:
        """To the warps with an active lane."""
        base = lanes.base
        if not isinstance(amount, np.ndarray):
            if lanes.mask is None and base.covers_chunk:
                self._common += amount
                return
            if lanes.active_warps is not None:
                amount = lanes.active_warps * float(amount)
        self._is_uneven = True
        if base.is_list:
            self._each.reshape(-1)[base.warps] += np.broadcast_to(amount, (1, len(base.warps)))[0]
        elif base.covers_chunk:
            self._each += amount
        else:
            self._each[base.block[:, 0]] += amount

    def meet(self, rows: Array | None, members: Array | None = None) -> None:
        """Warps of a block that waited for each other go on from the largest of their sums.

        `rows`: the blocks, all if None; `members` (blocks, warps): who takes part, all if None.
        """
        if not self._is_uneven:
            return
        part = self._each if rows is None else self._each[rows]
        if members is None:
            met = np.broadcast_to(part.max(axis=1, keepdims=True), part.shape)
        else:
            inside = members if rows is None else members[rows]
            met = np.where(inside, part.max(axis=1, keepdims=True, initial=0.0, where=inside), part)
        if rows is None:
            self._each[...] = met
            self._is_uneven = members is not None
        else:
            self._each[rows] = met

    @property
    def of_largest_warp(self) -> float:
        return self._common + float(self._each.max(initial=0.0))

    @property
    def of_largest_block(self) -> float:
        """The sum over the warps of one block."""
        return self._common * self._each.shape[1] + float(self._each.sum(axis=1).max(initial=0.0))
