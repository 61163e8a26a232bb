"""Runs the groups of one chunk to their end.

The group at the lowest-numbered block runs; groups that come to the same block merge. While there is
one group, blocks follow each other without any search. A group that does nothing but wait sleeps until
memory changes; one that spins in another way (it counts how often it looked, say) gives way to the others
now and then, for as long as it spun itself, so that a lock held by another lane can be released.
"""

from __future__ import annotations

import numpy as np

from coding_framework.cuda.executors.base import FaultKind
from coding_framework.cuda.executors.emulator.dtypes import Array, Value
from coding_framework.cuda.executors.emulator.faults import KernelFault
from coding_framework.cuda.executors.emulator.machine.barriers import BarrierUnit, by_number
from coding_framework.cuda.executors.emulator.machine.geometry import Geometry
from coding_framework.cuda.executors.emulator.machine.group import Group, merge, unwritten
from coding_framework.cuda.executors.emulator.machine.lanes import Base, Lanes
from coding_framework.cuda.executors.emulator.machine.machine import Machine
from coding_framework.cuda.executors.emulator.machine.splitting import (
    compact_if_sparse,
    missing_members,
    partition_rows,
)
from coding_framework.cuda.executors.emulator.machine.tally import Tally
from coding_framework.cuda.executors.emulator.machine.waiting import Changes, SpinWatch
from coding_framework.cuda.executors.emulator.program.code import Block, Ending, Kernel

SPIN_STEPS = 4096
"""Blocks that one group may run while others wait, before it is set back."""
MIN_CHARGE = 512
"""Lanes that a step is charged with at the least: a step costs time however few its lanes are."""


class Budget:
    """Lane instructions left before a run counts as endless."""

    def __init__(self, limit: int) -> None:
        self.left = limit
        self.limit = limit


class Scheduler:
    """All groups of a chunk, by where they are and what they wait for."""

    def __init__(
        self,
        kernel: Kernel,
        machine: Machine,
        geometry: Geometry,
        budget: Budget,
        changes: Changes,
        tally: Tally,
    ) -> None:
        self._blocks = kernel.blocks
        self._machine = machine
        self._budget = budget
        self._geometry = geometry
        self.tally = tally
        self._runnable: dict[int, Group] = {}
        self._parked: dict[int, Group] = {}
        self._barriers = BarrierUnit(geometry, machine.shared_space.races, tally, machine.undefined)
        self._base = Base.whole(geometry)
        self._deferred: list[Group] = []
        self._has_turn = False
        """Whether the group that runs came to it because another one spun, so that it need not give way."""
        self._is_begun = False
        """Whether a family has begun and not ended."""
        self._changes = changes
        self._may_wait = kernel.may_hand_over
        self._spin_watch = SpinWatch(changes) if kernel.may_wait else None
        registers: list[Value] = list(unwritten(kernel.register_types, machine.local_space.garbage))
        self._deferred.append(Group(0, Lanes(self._base), registers))

    def run(self) -> bool:
        """Go on until all have ended, or all that could run wait for a change; whether they have ended."""
        while self._is_begun or self._deferred:
            if not self._is_begun:
                group = self._deferred.pop()
                self._base = group.lanes.base
                self._runnable[group.pc] = group
            self._is_begun = not self._run_family()
            if self._is_begun:
                return False
        return True

    def num_living_blocks(self) -> int:
        """Blocks of the family that has begun of which a thread has not ended."""
        groups = (*self._runnable.values(), *self._parked.values(), *self._barriers.waiting_groups())
        numbers = [group.lanes.compress(group.lanes.base.block) for group in groups]
        return int(np.unique(np.concatenate(numbers)).size) if numbers else 0

    def line_of_waiting(self) -> int | None:
        """Where one of them waits that could run."""
        return next((self._blocks[pc].line for pc in self._runnable), None)

    def wait_no_more(self) -> None:
        """Let groups that wait spin on: nobody is left who could change anything."""
        self._spin_watch = None

    def _run_family(self) -> bool:
        """The lowest group runs; after one has spun for long, the one that has waited longest."""
        while True:
            awake = self._awake()
            if awake:
                first = awake[0] if self._has_turn else min(awake)
                self._has_turn = self._run_group(self._runnable.pop(first))
            elif not self._wake():
                return not self._runnable

    def _awake(self) -> list[int]:
        """Where groups are that could run and do not wait for a change; who ran last comes last."""
        if self._spin_watch is None:
            return list(self._runnable)
        return [pc for pc, group in self._runnable.items() if group.asleep_at != self._changes.count]

    def _run_group(self, group: Group | None) -> bool:
        """Until it ends, waits or gives way; whether it gave way because it spun for long."""
        steps = 0
        while group is not None:
            block = self._blocks[group.pc]
            if block.is_warp_sync and (self._runnable or self._parked or self._barriers.waiting):
                group = self._gather_warps(group, block)
                if group is None:
                    return False
            if self._spin_watch is not None and self._spin_watch.finds_waiting(group, block.live_in):
                group.asleep_at = self._changes.count
                self._add(group)
                return False
            group = self._step(group, block)
            if group is None:
                return False
            if self._runnable:
                steps += 1
                if group.pc in self._runnable:
                    group = self._merged(group, self._runnable.pop(group.pc))
                has_spun = steps > SPIN_STEPS or self._looks_in_vain(block)
                if has_spun or (not self._has_turn and min(self._awake(), default=group.pc) < group.pc):
                    self._add(group)
                    return has_spun
        return False

    def _looks_in_vain(self, block: Block) -> bool:
        """Whether a loop has looked at memory again and again, for its own count of them."""
        return block.polls and self._spin_watch is not None and self._spin_watch.looks_in_vain()

    def _add(self, group: Group) -> None:
        if group.pc in self._runnable:
            group = self._merged(group, self._runnable.pop(group.pc))
        self._runnable[group.pc] = group

    def _merged(self, first: Group, second: Group) -> Group:
        self.tally.settle(first)
        self.tally.settle(second)
        return merge(first, second, self._base, self._blocks[first.pc].live_in)

    def _step(self, group: Group, block: Block) -> Group | None:
        """Run one block; returns the group that goes on, if one does."""
        lanes = group.lanes
        self.tally.block_warps[block.index] += lanes.num_warps
        self.tally.block_lanes[block.index] += lanes.count
        group.pending[block.index] = group.pending.get(block.index, 0) + 1
        if self.tally.follows_hand_over and block.accesses_memory:
            self.tally.enter(group, block.index)
        result = block.run(group.registers, self._machine, lanes)
        self._budget.left -= (block.num_issued + 1) * max(lanes.count, MIN_CHARGE)
        if self._budget.left < 0:
            raise endless(block, self._budget.limit)
        ending = block.ending
        if ending is Ending.JUMP:
            group.pc = block.targets[0]
            return group
        if ending is Ending.BRANCH:
            return self._branch(group, block, result)
        if ending is Ending.EXIT:
            self.tally.settle(group)
            return None
        if ending is Ending.SWITCH:
            return self._switch(group, block, result)
        return self._barrier(group, block, result)

    def _branch(self, group: Group, block: Block, condition: Value) -> Group | None:
        taken, other = block.targets
        if condition.ndim == 0:
            group.pc = taken if condition else other
            return group
        mask = group.lanes.mask
        here = condition if mask is None else condition & mask
        num_here = np.count_nonzero(here)
        if num_here == 0:
            group.pc = other
            return group
        there = ~condition if mask is None else ~condition & mask
        if not there.any():
            group.pc = taken
            return group
        return self._split(group, [(taken, here), (other, there)])

    def _switch(self, group: Group, block: Block, index: Value) -> Group | None:
        if index.ndim == 0:
            group.pc = block.targets[int(index)]
            return group
        masks: dict[int, Array] = {}
        for value in np.unique(group.lanes.compress(index)):
            chosen = group.lanes.narrowed(index == value).mask
            assert chosen is not None
            target = block.targets[int(value)]
            masks[target] = chosen | masks[target] if target in masks else chosen
        if len(masks) == 1:
            group.pc = next(iter(masks))
            return group
        return self._split(group, list(masks.items()))

    def _split(self, group: Group, ways: list[tuple[int, Array]]) -> Group | None:
        """Lanes that part; those that only leave are gone at once."""
        self.tally.settle(group)
        parts = []
        for pc, mask in ways:
            part = group.part(pc, Lanes(group.lanes.base, mask))
            if self._blocks[pc].quick_exit:
                self._leave(part)
            else:
                parts.append(compact_if_sparse(part, self._blocks[pc].live_in))
        if len(parts) == 1 and not (self._runnable or self._parked or self._barriers.waiting):
            return self._partition(parts[0])
        for part in parts:
            self._add(part)
        own = [part.pc for part in parts] if self._has_turn else self._awake()
        return self._runnable.pop(min(own)) if own else None

    def _leave(self, group: Group) -> None:
        block = self._blocks[group.pc]
        self.tally.block_warps[block.index] += group.lanes.num_warps
        self.tally.block_lanes[block.index] += group.lanes.count
        group.pending = {block.index: 1}
        self.tally.settle(group)

    def _partition(self, group: Group) -> Group:
        """A lone group: blocks that are whole go on without a mask, the others follow later.

        Unless one may wait for another: then all go on together.
        """
        if self._may_wait:
            return group
        chosen, rest = partition_rows(group, self._blocks[group.pc].live_in)
        if rest is not None:
            self._deferred.append(rest)
        self._base = chosen.lanes.base if chosen is not group else self._base
        return chosen

    def _barrier(self, group: Group, block: Block, arguments: tuple[Value, ...]) -> Group | None:
        group.pc = block.targets[0]
        group.line = block.last.instruction.line if block.last else block.line
        number, count, arrives_only, reduction = arguments
        group.barrier = (number, count, bool(arrives_only), reduction)
        self.tally.settle(group)
        is_alone = not (self._runnable or self._parked or self._barriers.waiting)
        if is_alone and not arrives_only and count is None and number.ndim == 0:
            self._barriers.pass_alone(group, block.barrier_result)
            return group
        parts = by_number(group)
        if arrives_only:
            for part in parts:
                self._barriers.arrive(part)
            return group
        for part in parts:
            self._barriers.wait(part, block.barrier_result)
        return None

    def _gather_warps(self, group: Group, block: Block) -> Group | None:
        """Warp-wide instructions wait for the lanes they name; returns the lanes that are complete."""
        if group.pc in self._parked:
            group = self._merged(group, self._parked.pop(group.pc))
        late = self._late_lanes(group, block)
        if late is None or not late.any():
            return group
        self.tally.settle(group)
        ready = group.lanes.full_mask & ~late
        waiting = group.part(group.pc, Lanes(group.lanes.base, late))
        waiting.line = block.line
        self._parked[group.pc] = waiting
        return group.part(group.pc, Lanes(group.lanes.base, ready)) if ready.any() else None

    def _late_lanes(self, group: Group, block: Block) -> Array | None:
        """The lanes of a group whose warp names lanes that are still somewhere else."""
        elsewhere = [
            other
            for other in (*self._runnable.values(), *self._parked.values(), *self._barriers.waiting_groups())
            if other is not group
        ]
        if not elsewhere:
            return None
        assert block.members is not None
        members = block.members(group.registers, self._machine, group.lanes)
        return missing_members(group, elsewhere, members, self._geometry) & group.lanes.full_mask

    def _retry_parked(self) -> bool:
        """Lanes that were waited for may have ended meanwhile."""
        for pc, group in list(self._parked.items()):
            late = self._late_lanes(group, self._blocks[pc])
            if late is None or (group.lanes.full_mask & ~late).any():
                self._add(self._parked.pop(pc))
                return True
        return False

    def _wake(self) -> bool:
        """All that could run are asleep: release barriers, or say why there is a deadlock.

        One that sleeps may wait for a thread at a barrier; of its own block it holds up the barrier.
        """
        released = self._barriers.release([*self._parked.values(), *self._runnable.values()])
        for group in released:
            self._add(group)
        if released or self._retry_parked():
            return True
        if not self._runnable and (self._parked or self._barriers.waiting):
            raise self._barriers.deadlock(list(self._parked.values()))
        return False


def endless(block: Block, limit: int) -> KernelFault:
    """The verdict on a run that used up its budget."""
    return KernelFault(
        FaultKind.TIMEOUT,
        f"the kernel used up its budget of {limit:,} thread instructions (fewer than {MIN_CHARGE} threads "
        f"count as {MIN_CHARGE}): an endless loop, or far too much work; it was at line {block.line}",
        block.line,
    )
