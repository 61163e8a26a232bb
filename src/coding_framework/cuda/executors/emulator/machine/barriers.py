"""Barriers of a block: who waits, who may pass, and when nobody ever will.

Threads that have ended count as arrived, as they do on the hardware. A barrier with a count is passed
by those who came to it, and puts only what they did in order; one without is for the whole block. Nobody
passes one whose count is more than the threads of the block's warps.
"""

from __future__ import annotations

import numpy as np

from coding_framework.cuda.executors.base import ExecutionFault, FaultKind
from coding_framework.cuda.executors.emulator.dtypes import Array, Value
from coding_framework.cuda.executors.emulator.faults import KernelFault
from coding_framework.cuda.executors.emulator.machine.barrier_clocks import WarpClocks
from coding_framework.cuda.executors.emulator.machine.geometry import WARP, Geometry
from coding_framework.cuda.executors.emulator.machine.group import Group
from coding_framework.cuda.executors.emulator.machine.lanes import Lanes
from coding_framework.cuda.executors.emulator.machine.shared_races import SharedRaces
from coding_framework.cuda.executors.emulator.machine.tally import Tally
from coding_framework.cuda.executors.emulator.machine.undefined import Undefined


class BarrierUnit:
    """The groups that wait at barriers, with the register that a reduction fills."""

    def __init__(
        self, geometry: Geometry, races: SharedRaces | None, tally: Tally, undefined: Undefined
    ) -> None:
        self._geometry = geometry
        self._undefined = undefined
        self._races = races
        self._tally = tally
        self.waiting: list[tuple[Group, int | None]] = []
        self._arrived: dict[int, Array] = {}
        self._most_threads = geometry.warps_per_block * WARP
        """That can come to a barrier: whole warps do."""

    def waiting_groups(self) -> list[Group]:
        return [group for group, _ in self.waiting]

    def pass_alone(self, group: Group, result: int | None) -> None:
        """All living threads are in this group: it passes at once."""
        assert group.barrier is not None
        reduction = group.barrier[3]
        if result is not None and reduction is not None:
            totals = self._reduced([group])
            group.registers[result] = _per_lane(totals, group)
        group.barrier = None
        base = group.lanes.base
        alone = not base.is_list and base.shape[0] == self._geometry.num_blocks
        rows = None if alone else np.unique(base.block)
        num_blocks = self._geometry.num_blocks if rows is None else rows.size
        if group.lanes.count < num_blocks * self._geometry.num_threads:
            self._note_missing(group.line)
        self._tally.meet(rows)
        if self._races is not None:
            self._races.pass_all(rows)

    def arrive(self, group: Group) -> None:
        """bar.arrive: counted, but it does not wait."""
        assert group.barrier is not None
        number = int(np.max(group.barrier[0]))
        counts = self._arrived.setdefault(number, np.zeros(self._geometry.num_blocks, dtype=np.int64))
        np.add.at(counts, group.lanes.compress(group.lanes.base.block), 1)
        members = self._warps_of([group])
        self._tally.arrive(number, members)
        if self._races is not None and isinstance(self._races.clocks, WarpClocks):
            self._races.clocks.arrive(number, members)
        group.barrier = None

    def wait(self, group: Group, result: int | None) -> None:
        self.waiting.append((group, result))

    def release(self, elsewhere: list[Group]) -> list[Group]:
        """Let every block pass of which no living thread is elsewhere; returns the groups that may run."""
        if not self.waiting:
            return []
        living = self._count([*self.waiting_groups(), *elsewhere])
        released: list[Group] = []
        for number in sorted({self._number(group) for group in self.waiting_groups()}):
            mine = [(g, r) for g, r in self.waiting if self._number(g) == number]
            rows = self._complete(number, [g for g, _ in mine], living)
            if rows.any():
                self._put_in_order(mine, rows)
                released += self._pass(mine, rows)
                if number in self._arrived:
                    self._arrived[number][rows] = 0
        return released

    @staticmethod
    def _number(group: Group) -> int:
        assert group.barrier is not None
        return int(np.max(group.barrier[0]))

    def _complete(self, number: int, groups: list[Group], living: Array) -> Value:
        come = self._count(groups)
        count = _highest_count(groups)
        rows = (come > 0) & (come == living) & (count <= self._most_threads)
        if not count and rows.any() and (come[rows] < self._geometry.num_threads).any():
            self._note_missing(groups[0].line)
        if count:
            early = self._arrived.get(number, np.zeros_like(come))
            rows |= (come > 0) & (come + early >= count)
        return rows

    def _note_missing(self, line: int | None) -> None:
        """Threads that have ended count as arrived; an author may not have meant that."""
        words = (
            f"the barrier on line {line} was passed although threads of the block had ended before it; that "
            "counts as arriving, but they bring nothing and wait for nobody; let every thread of the block "
            "reach it unless that is what you want"
        )
        self._undefined.note(ExecutionFault(FaultKind.DEADLOCK, words, line))

    def _count(self, groups: list[Group]) -> Array:
        """Lanes of these groups in each block."""
        counts = np.zeros(self._geometry.num_blocks, dtype=np.int64)
        for group in groups:
            counts += np.bincount(
                group.lanes.compress(group.lanes.base.block), minlength=self._geometry.num_blocks
            )
        return counts

    def _pass(self, mine: list[tuple[Group, int | None]], rows: Array) -> list[Group]:
        totals = self._reduced([g for g, _ in mine]) if any(r is not None for _, r in mine) else None
        released = []
        for group, result in mine:
            self.waiting = [(g, r) for g, r in self.waiting if g is not group]
            here = np.broadcast_to(rows[group.lanes.base.block], group.lanes.base.shape)
            stay = ~here & group.lanes.full_mask
            if stay.any():
                rest = group.part(group.pc, Lanes(group.lanes.base, stay))
                rest.barrier, rest.line = group.barrier, group.line
                self.waiting.append((rest, result))
                passing = here & group.lanes.full_mask
                if not passing.any():
                    continue
                group = group.part(group.pc, Lanes(group.lanes.base, passing))
            if result is not None and totals is not None:
                group.registers[result] = _per_lane(totals, group)
            group.barrier = None
            released.append(group)
        return released

    def _put_in_order(self, mine: list[tuple[Group, int | None]], rows: Array) -> None:
        """Tell counts and races who has met: everybody, or the participants of a barrier with a count."""
        groups = [group for group, _ in mine]
        has_count = any(group.barrier is not None and group.barrier[1] is not None for group in groups)
        blocks = None if rows.all() else np.flatnonzero(rows)
        members = self._warps_of(groups) if has_count else None
        number = self._number(groups[0])
        self._tally.meet(blocks, members, number)
        if self._races is None:
            return
        if members is not None and isinstance(self._races.clocks, WarpClocks):
            self._races.clocks.meet(number, members & rows[:, None])
        else:
            self._races.pass_all(blocks)

    def _warps_of(self, groups: list[Group]) -> Array:
        """(blocks, warps): the warps that have a lane in these groups."""
        geometry = self._geometry
        found = np.zeros((geometry.num_blocks, geometry.warps_per_block), dtype=np.bool_)
        for group in groups:
            base = group.lanes.base
            found[group.lanes.compress(base.block), group.lanes.compress(base.thread) // WARP] = True
        return found

    def _reduced(self, groups: list[Group]) -> Array:
        """bar.red: the predicate of all arriving threads of each block, combined."""
        yes, come = np.zeros(self._geometry.num_blocks, dtype=np.int64), self._count(groups)
        operation = "popc"
        for group in groups:
            if group.barrier and group.barrier[3] is not None:
                operation, predicate = group.barrier[3]
                block = group.lanes.compress(group.lanes.base.block)
                np.add.at(yes, block, group.lanes.compress(predicate).astype(np.int64))
        if operation == "popc":
            return yes.astype(np.int32)
        return yes == come if operation == "and" else yes > 0

    def deadlock(self, parked: list[Group]) -> KernelFault:
        """Words for threads that wait for others which will never come."""
        lines = sorted({g.line for g in [*self.waiting_groups(), *parked] if g.line is not None})
        places = " and ".join(f"line {line}" for line in lines) or "an unknown line"
        if parked:
            what = (
                f"deadlock: a warp-wide instruction at {places} names threads that do not reach it; call "
                "*_sync intrinsics where every thread of the mask takes part"
            )
        elif _highest_count(self.waiting_groups()) > self._most_threads:
            what = (
                f"deadlock: a barrier at {places} waits for {_highest_count(self.waiting_groups())} threads, "
                f"and the block has {self._geometry.num_threads}; count those that come to it"
            )
        else:
            what = (
                f"deadlock: threads of one block wait at different barriers ({places}); every thread of the "
                "block must reach the same __syncthreads()"
            )
        return KernelFault(
            FaultKind.DEADLOCK, what, lines[0] if lines else None, lines[1] if len(lines) > 1 else None
        )


def by_number(group: Group) -> list[Group]:
    """A group of which different threads come to different barriers falls apart."""
    assert group.barrier is not None
    number = group.barrier[0]
    found = np.unique(group.lanes.compress(number)) if number.ndim else np.zeros(1)
    if found.size == 1:
        return [group]
    parts = []
    for value in found:
        part = group.part(group.pc, group.lanes.narrowed(np.asarray(number == value)))
        part.barrier, part.line = (value, *group.barrier[1:]), group.line
        parts.append(part)
    return parts


def _highest_count(groups: list[Group]) -> int:
    """Of threads that barriers wait for; 0 if all of them are for the whole block."""
    counts = [g.lanes.compress(g.barrier[1]) for g in groups if g.barrier and g.barrier[1] is not None]
    return max((int(np.max(count.astype(np.uint32))) for count in counts), default=0)


def _per_lane(totals: Array, group: Group) -> Value:
    return totals[group.lanes.base.block]
