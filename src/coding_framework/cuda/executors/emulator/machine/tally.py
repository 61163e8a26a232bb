"""Who did how much in a chunk: instructions, waiting and memory traffic of every warp and block.

Guaranteed: the longest way through a block is that of its slowest warp, and warps that meet at a barrier
go on from the slowest of them, so that work which goes round from warp to warp adds up. Where blocks may
hand data on, a second way counts that too (`hand_over.py`). Not modelled: warps that hand data on through
shared memory without a barrier.
"""

from __future__ import annotations

import numpy as np

from coding_framework.cuda.executors.base import LaunchCounters
from coding_framework.cuda.executors.emulator.device_model import H200
from coding_framework.cuda.executors.emulator.dtypes import Array, Value
from coding_framework.cuda.executors.emulator.machine.geometry import Geometry
from coding_framework.cuda.executors.emulator.machine.group import Group
from coding_framework.cuda.executors.emulator.machine.lanes import Lanes
from coding_framework.cuda.executors.emulator.machine.warp_sums import Amount, WarpSums
from coding_framework.cuda.executors.emulator.program.code import Kernel


class Tally:
    """Counts of one chunk."""

    def __init__(self, kernel: Kernel, geometry: Geometry, *, is_on: bool) -> None:
        self.is_on = is_on
        """Off, it only counts instructions: nobody asks for the time of this run."""
        self.follows_hand_over = is_on and kernel.may_hand_over
        """Whether the way through blocks that hand data on is counted too."""
        self._kernel = kernel
        self._geometry = geometry
        self.block_warps = [0] * len(kernel.blocks)
        self.block_lanes = [0] * len(kernel.blocks)
        self._instructions = WarpSums(geometry)
        self._path_clocks = [WarpSums(geometry) for _ in range(1 + self.follows_hand_over)]
        """Of a warp by itself, and, if that is asked for, with what it reads from others."""
        self._path_sectors = [WarpSums(geometry) for _ in range(1 + self.follows_hand_over)]
        self._clocks_here = 0.0
        """Of the block of the program that runs now."""
        self._requests = WarpSums(geometry)
        self._sectors = WarpSums(geometry)
        self._shared_passes = WarpSums(geometry)
        latency = np.array([H200.latency_of(kind) for kind in kernel.classes])
        self._latency: list[float] = (kernel.issued @ latency).tolist()
        self._by_all = [0] * len(kernel.blocks)
        """How often all warps together ran each block of the program."""
        self._by_block = np.zeros((geometry.num_blocks, len(kernel.classes)), dtype=np.int64)
        """Warp instructions by class of every block of the grid, without those of all warps together."""

    def settle(self, group: Group) -> None:
        """Add what a group ran to the counts of its warps and blocks."""
        if not self.is_on or not group.pending:
            return
        lanes, ran = group.lanes, group.pending
        self._charge(group)
        if lanes.mask is None and lanes.base.covers_chunk:
            for index, times in ran.items():
                self._by_all[index] += times
        else:
            issued = sum([self._kernel.issued[i] * n for i, n in ran.items()], start=np.int64(0))
            self._instructions.add(lanes, int(issued.sum()))
            self._add_classes(lanes, issued)
        group.pending, group.charged = {}, 0.0

    def _charge(self, group: Group) -> None:
        """Add the clocks of what a group ran to the ways of its warps."""
        clocks = sum([self._latency[i] * n for i, n in group.pending.items()]) - group.charged
        group.charged += clocks
        for path in self._path_clocks:
            path.add(group.lanes, clocks)

    def enter(self, group: Group, index: int) -> None:
        """A group is about to run a block in which it may read what others wrote."""
        self._charge(group)
        self._clocks_here = self._latency[index]

    def reached(self, lanes: Lanes) -> Array:
        """(2, lanes): clocks and sectors on the way to each active lane."""
        return np.array([self._path_clocks[-1].of_lanes(lanes), self._path_sectors[-1].of_lanes(lanes)])

    def catch_up(self, lanes: Lanes, late: Array, *, is_at_once: bool = False) -> None:
        """Each lane reads what was written when its writer had come so far, and goes on from there.

        The block of the program that it is in comes after that, unless both do this together.
        """
        clocks, sectors = late
        here = 0.0 if is_at_once else self._clocks_here
        self._path_clocks[-1].raise_to(lanes, np.where(clocks > 0, clocks + here, 0.0))
        self._path_sectors[-1].raise_to(lanes, sectors)

    def _add_classes(self, lanes: Lanes, issued: Value) -> None:
        base = lanes.base
        if base.is_list:
            blocks = base.warps // self._geometry.warps_per_block
            if lanes.active_warps is not None:
                blocks = blocks[lanes.active_warps[0]]
            warps = np.bincount(blocks, minlength=self._geometry.num_blocks)
            self._by_block += warps[:, None] * issued
        else:
            active = lanes.active_warps
            warps = np.full((1, 1), base.num_warp_columns) if active is None else active.sum(1)[:, None]
            self._by_block[base.block[:, 0]] += warps * issued

    def add_access(self, lanes: Lanes, sectors: Amount) -> None:
        """A global access of some warps, and the sectors that each of them touched."""
        if lanes.mask is None and lanes.base.covers_chunk and not isinstance(sectors, np.ndarray):
            self._requests.add_to_all(1)
            self._sectors.add_to_all(sectors)
            for path in self._path_sectors:
                path.add_to_all(sectors)
            return
        self._requests.add(lanes, 1)
        self._sectors.add(lanes, sectors)
        for path in self._path_sectors:
            path.add(lanes, sectors)

    def add_shared_passes(self, lanes: Lanes, passes: Amount) -> None:
        """Passes over shared memory that each warp took."""
        self._shared_passes.add(lanes, passes)

    def arrive(self, number: int, members: Array) -> None:
        """Warps that come to a barrier and go on; see `WarpSums.arrive`."""
        for path in (*self._path_clocks, *self._path_sectors):
            path.arrive(number, members)

    def meet(self, rows: Array | None, members: Array | None = None, number: int = 0) -> None:
        """Warps that waited for each other at a barrier; see `WarpSums.meet`."""
        for path in (*self._path_clocks, *self._path_sectors):
            path.meet(rows, members, number)

    def add_to(self, counters: LaunchCounters) -> None:
        """Put the chunk's counts into the launch's."""
        for block, warps, lanes in zip(self._kernel.blocks, self.block_warps, self.block_lanes, strict=True):
            if warps:
                counters.warp_instructions += warps * block.num_issued
                counters.lane_instructions += lanes * block.num_issued
                for kind, number in block.classes.items():
                    counters.by_class[kind] = counters.by_class.get(kind, 0) + number * warps
        if not self.is_on:
            return
        counters.path_clocks = max(counters.path_clocks, self._path_clocks[0].of_largest_warp)
        counters.path_sectors = max(counters.path_sectors, int(self._path_sectors[0].of_largest_warp))
        counters.chain_clocks = max(counters.chain_clocks, self._path_clocks[-1].of_largest_warp)
        counters.chain_sectors = max(counters.chain_sectors, int(self._path_sectors[-1].of_largest_warp))
        by_all = np.array(self._by_all) @ self._kernel.issued
        longest = int(by_all.sum()) + int(self._instructions.of_largest_warp)
        counters.max_warp_instructions = max(counters.max_warp_instructions, longest)
        self._add_largest_block(counters, self._by_block + by_all * self._geometry.warps_per_block)

    def _add_largest_block(self, counters: LaunchCounters, by_block: Array) -> None:
        largest, classes = counters.largest_block, self._kernel.classes
        largest.requests = max(largest.requests, int(self._requests.of_largest_block))
        largest.sectors = max(largest.sectors, int(self._sectors.of_largest_block))
        largest.shared_passes = max(largest.shared_passes, int(self._shared_passes.of_largest_block))
        is_work = np.array([kind != "move" for kind in classes])
        working = int((by_block @ is_work).max())
        largest.instructions_without_moves = max(largest.instructions_without_moves, working)
        for kind, number in zip(classes, by_block.max(axis=0).tolist(), strict=True):
            if number:
                largest.by_class[kind] = max(largest.by_class.get(kind, 0), number)
