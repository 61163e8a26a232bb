"""Flags and locks in device memory, as far as they put warps of one block in order.

Guaranteed: what a warp did before a fence is in order for a warp of its block that looks, by `volatile` or
an atomic, at a place to which the first wrote so behind the fence. Not known: whether what was found there
came from it or from before; every writer of a place hands on.
"""

from __future__ import annotations

import numpy as np

from coding_framework.cuda.executors.emulator.dtypes import Array
from coding_framework.cuda.executors.emulator.machine.barrier_clocks import BlockEpochs, WarpClocks
from coding_framework.cuda.executors.emulator.machine.geometry import WARP
from coding_framework.cuda.executors.emulator.machine.lanes import Lanes


class GlobalFlags:
    """By place and block of the grid, the clocks that its writers hand on."""

    def __init__(self) -> None:
        self._handed_on: dict[tuple[int, int], Array] = {}

    def learn(self, clocks: BlockEpochs | WarpClocks, lanes: Lanes, address: Array) -> None:
        """These lanes look at places, not by plain loads."""
        if not self._handed_on or not isinstance(clocks, WarpClocks):
            return
        block, thread = lanes.compress(lanes.base.block), lanes.compress(lanes.base.thread)
        for place, number, same in _places(lanes, address, block):
            found = self._handed_on.get((place, number))
            if found is not None:
                clocks.learn(block[same], thread[same], np.broadcast_to(found, (same.size, found.size)))

    def hand_on(self, clocks: BlockEpochs | WarpClocks, lanes: Lanes, address: Array) -> None:
        """These lanes write to places, not by plain stores."""
        if not isinstance(clocks, WarpClocks):
            return
        block, thread = lanes.compress(lanes.base.block), lanes.compress(lanes.base.thread)
        given = clocks.handed_on(block, thread // WARP)
        if given.any():
            for place, number, same in _places(lanes, address, block):
                before = self._handed_on.get((place, number), np.int64(0))
                self._handed_on[place, number] = np.maximum(before, given[same].max(axis=0))


def _places(lanes: Lanes, address: Array, block: Array) -> list[tuple[int, int, Array]]:
    """Each place with the number of a block in the grid, and which of the lanes touch it."""
    numbers = lanes.base.geometry.numbers[block]
    order = np.lexsort((numbers, address))
    moved = (np.diff(address[order]) != 0) | (np.diff(numbers[order]) != 0)
    parts = np.split(order, np.flatnonzero(moved) + 1)
    return [(int(address[part[0]]), int(numbers[part[0]]), part) for part in parts]
