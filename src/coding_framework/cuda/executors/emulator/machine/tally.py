"""Who did how much in a chunk: instructions, waiting and memory traffic of every warp and block.

Guaranteed: the longest way through a block is that of its slowest warp, and warps that meet at a barrier
go on from the slowest of them, so that work which goes round from warp to warp adds up. Not modelled:
warps and blocks that wait for each other by reading memory.
"""

from __future__ import annotations

import numpy as np

from coding_framework.cuda.executors.base import LaunchCounters
from coding_framework.cuda.executors.emulator.device_model import H200
from coding_framework.cuda.executors.emulator.dtypes import Array
from coding_framework.cuda.executors.emulator.machine.geometry import Geometry
from coding_framework.cuda.executors.emulator.machine.group import Group
from coding_framework.cuda.executors.emulator.machine.lanes import Lanes
from coding_framework.cuda.executors.emulator.machine.warp_sums import Amount, WarpSums
from coding_framework.cuda.executors.emulator.program.code import Kernel


class Tally:
    """Counts of one chunk."""

    def __init__(self, kernel: Kernel, geometry: Geometry) -> None:
        self._kernel = kernel
        self._geometry = geometry
        self.block_warps = [0] * len(kernel.blocks)
        self.block_lanes = [0] * len(kernel.blocks)
        self._instructions = WarpSums(geometry)
        self._path_clocks = WarpSums(geometry)
        self._path_sectors = WarpSums(geometry)
        self._requests = WarpSums(geometry)
        self._sectors = WarpSums(geometry)
        self._shared_passes = WarpSums(geometry)
        self._latency = [H200.latency_of(block.classes) for block in kernel.blocks]
        self._classes = sorted({kind for block in kernel.blocks for kind in block.classes})
        self._issued = np.array([[b.classes.get(kind, 0) for kind in self._classes] for b in kernel.blocks])
        self._common = np.zeros(len(self._classes))
        self._by_block = np.zeros((geometry.num_blocks, len(self._classes)))
        """Warp instructions by class of every block, without those that all have in common."""

    def settle(self, group: Group) -> None:
        """Add what a group ran to the counts of its warps and blocks."""
        if not group.pending:
            return
        lanes, ran = group.lanes, group.pending
        self._instructions.add(lanes, sum(self._kernel.blocks[i].num_issued * n for i, n in ran.items()))
        self._path_clocks.add(lanes, sum(self._latency[i] * n for i, n in ran.items()))
        self._add_classes(lanes, np.fromiter(ran.values(), np.int64) @ self._issued[list(ran)])
        group.pending = {}

    def _add_classes(self, lanes: Lanes, issued: Array) -> None:
        base = lanes.base
        if lanes.mask is None and base.covers_chunk:
            self._common += issued * self._geometry.warps_per_block
        elif base.is_list:
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
        self._requests.add(lanes, 1)
        self._sectors.add(lanes, sectors)
        self._path_sectors.add(lanes, sectors)

    def add_shared_passes(self, lanes: Lanes, passes: Amount) -> None:
        """Passes over shared memory that each warp took."""
        self._shared_passes.add(lanes, passes)

    def arrive(self, number: int, members: Array) -> None:
        """Warps that come to a barrier and go on; see `WarpSums.arrive`."""
        self._path_clocks.arrive(number, members)
        self._path_sectors.arrive(number, members)

    def meet(self, rows: Array | None, members: Array | None = None, number: int = 0) -> None:
        """Warps that waited for each other at a barrier; see `WarpSums.meet`."""
        self._path_clocks.meet(rows, members, number)
        self._path_sectors.meet(rows, members, number)

    def add_to(self, counters: LaunchCounters) -> None:
        """Put the chunk's counts into the launch's."""
        for block, warps, lanes in zip(self._kernel.blocks, self.block_warps, self.block_lanes, strict=True):
            if warps:
                counters.warp_instructions += warps * block.num_issued
                counters.lane_instructions += lanes * block.num_issued
                for kind, number in block.classes.items():
                    counters.by_class[kind] = counters.by_class.get(kind, 0) + number * warps
        longest = int(self._instructions.of_largest_warp)
        counters.max_warp_instructions = max(counters.max_warp_instructions, longest)
        counters.path_clocks = max(counters.path_clocks, self._path_clocks.of_largest_warp)
        counters.path_sectors = max(counters.path_sectors, int(self._path_sectors.of_largest_warp))
        self._add_largest_block(counters)

    def _add_largest_block(self, counters: LaunchCounters) -> None:
        largest = counters.largest_block
        largest.requests = max(largest.requests, int(self._requests.of_largest_block))
        largest.sectors = max(largest.sectors, int(self._sectors.of_largest_block))
        largest.shared_passes = max(largest.shared_passes, int(self._shared_passes.of_largest_block))
        by_block = self._by_block + self._common
        moves = [self._classes.index("move")] if "move" in self._classes else []
        working = by_block.sum(axis=1) - by_block[:, moves].sum(axis=1)
        largest.instructions_without_moves = max(largest.instructions_without_moves, int(working.max()))
        for kind, number in zip(self._classes, by_block.max(axis=0), strict=True):
            largest.by_class[kind] = max(largest.by_class.get(kind, 0), int(number))
