"""Instruction counts: how often each block ran, and how far each warp got."""

from __future__ import annotations

import numpy as np

from coding_framework.cuda.executors.base import LaunchCounters
from coding_framework.cuda.executors.emulator.machine.geometry import Geometry
from coding_framework.cuda.executors.emulator.machine.group import Group
from coding_framework.cuda.executors.emulator.program.code import Kernel


class Tally:
    """Counts of one chunk."""

    def __init__(self, kernel: Kernel, geometry: Geometry) -> None:
        self._kernel = kernel
        self._warps_per_block = geometry.warps_per_block
        self.block_warps = [0] * len(kernel.blocks)
        self.block_lanes = [0] * len(kernel.blocks)
        self._common = 0
        self._each = np.zeros((geometry.num_blocks, geometry.warps_per_block), dtype=np.int64)

    def settle(self, group: Group) -> None:
        """Add what a group ran to the counts of its warps."""
        if not group.pending:
            return
        lanes, base = group.lanes, group.lanes.base
        if lanes.mask is None and base.covers_chunk:
            self._common += group.pending
        else:
            active = lanes.active_warps
            amount = np.int64(group.pending) if active is None else active * np.int64(group.pending)
            if base.is_list:
                self._each.reshape(-1)[base.warps] += np.broadcast_to(amount, (1, len(base.warps)))[0]
            else:
                self._each[np.ix_(base.block[:, 0], base.warps)] += amount
        group.pending = 0

    def add_to(self, counters: LaunchCounters) -> None:
        """Put the chunk's counts into the launch's."""
        for block, warps, lanes in zip(self._kernel.blocks, self.block_warps, self.block_lanes, strict=True):
            if warps:
                counters.warp_instructions += warps * block.num_issued
                counters.lane_instructions += lanes * block.num_issued
                for kind, number in block.classes.items():
                    counters.by_class[kind] = counters.by_class.get(kind, 0) + number * warps
        longest = self._common + int(self._each.max(initial=0))
        counters.max_warp_instructions = max(counters.max_warp_instructions, longest)
