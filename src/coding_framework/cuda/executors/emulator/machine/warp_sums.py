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
        self._arrived: dict[int, Array] = {}
        """By barrier: the largest sum, for each block, of warps that came to it and did not wait."""

    def add_to_all(self, amount: float) -> None:
        """To every warp of the chunk."""
        self._common += amount

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

    def of_lanes(self, lanes: Lanes) -> Array:
        """The sum of its warp, for each active lane."""
        base = lanes.base
        return lanes.compress(base.spread(self._common + self._each_of(lanes)))

    def raise_to(self, lanes: Lanes, least: Array) -> None:
        """No warp has less than what any of its active lanes is given."""
        base, active = lanes.base, lanes.active_warps
        floor = lanes.warp_rows(lanes.expand(least)).max(axis=-1) - self._common
        if active is not None:
            floor = np.where(active, floor, 0.0)
        self._is_uneven = True
        raised = np.maximum(self._each_of(lanes), floor)
        if base.is_list:
            self._each.reshape(-1)[base.warps] = raised[0]
        elif base.covers_chunk:
            self._each = raised
        else:
            self._each[base.block[:, 0]] = raised

    def _each_of(self, lanes: Lanes) -> Array:
        """(r, W): what the warps of the base have beside what all have."""
        base = lanes.base
        if base.is_list:
            return self._each.reshape(-1)[base.warps][None]
        return self._each if base.covers_chunk else self._each[base.block[:, 0]]

    def arrive(self, number: int, members: Array) -> None:
        """Warps (blocks, warps) come to a barrier at which others will wait for them."""
        sums = (self._common + self._each).max(axis=1, initial=0.0, where=members)
        self._arrived[number] = np.maximum(sums, self._arrived.get(number, 0.0))

    def meet(self, rows: Array | None, members: Array | None = None, number: int = 0) -> None:
        """Warps of a block that waited for each other go on from the largest of their sums.

        `rows`: the blocks, all if None; `members` (blocks, warps): who waited, all if None; `number`: at
        which barrier, for those that arrived there before.
        """
        if not self._is_uneven and number not in self._arrived:
            return
        at = slice(None) if rows is None else rows
        part = self._each[at]
        inside = np.ones_like(part, dtype=np.bool_) if members is None else members[at]
        largest = part.max(axis=1, keepdims=True, initial=0.0, where=inside)
        if number in self._arrived:
            largest = np.maximum(largest, self._arrived[number][at, None] - self._common)
            self._arrived[number][at] = 0.0
        self._each[at] = np.where(inside, largest, part)
        self._is_uneven = rows is not None or members is not None

    @property
    def of_largest_warp(self) -> float:
        return self._common + float(self._each.max(initial=0.0))

    @property
    def of_largest_block(self) -> float:
        """The sum over the warps of one block."""
        return self._common * self._each.shape[1] + float(self._each.sum(axis=1).max(initial=0.0))
