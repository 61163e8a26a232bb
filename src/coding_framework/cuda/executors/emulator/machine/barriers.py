"""Block-wide barriers: who waits, who may pass, and when nobody ever will.

Threads that have ended count as arrived, as they do on the hardware.
"""

from __future__ import annotations

import numpy as np

from coding_framework.cuda.executors.base import FaultKind
from coding_framework.cuda.executors.emulator.dtypes import Array, Value
from coding_framework.cuda.executors.emulator.faults import KernelFault
from coding_framework.cuda.executors.emulator.machine.geometry import WARP, Geometry
from coding_framework.cuda.executors.emulator.machine.group import Group
from coding_framework.cuda.executors.emulator.machine.lanes import Lanes
from coding_framework.cuda.executors.emulator.machine.shared_races import SharedRaces
from coding_framework.cuda.executors.emulator.machine.tally import Tally


class BarrierUnit:
    """The groups that wait at barriers, with the register that a reduction fills."""

    def __init__(self, geometry: Geometry, races: SharedRaces | None, tally: Tally) -> None:
        self._geometry = geometry
        self._races = races
        self._tally = tally
        self.waiting: list[tuple[Group, int | None]] = []
        self._arrived: dict[int, Array] = {}

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
        self._tally.meet(rows)
        if self._races is not None:
            self._races.advance(rows)

    def arrive(self, group: Group) -> None:
        """bar.arrive: counted, but it does not wait."""
        assert group.barrier is not None
        number = int(np.max(group.barrier[0]))
        counts = self._arrived.setdefault(number, np.zeros(self._geometry.num_blocks, dtype=np.int64))
        np.add.at(counts, group.lanes.compress(group.lanes.base.block), 1)
        self._tally.arrive(number, self._warps_of([group]))
        group.barrier = None

    def wait(self, group: Group, result: int | None) -> None:
        self.waiting.append((group, result))

    def release(self, parked: list[Group]) -> list[Group]:
        """Let every block pass whose threads have all come; returns the groups that may run."""
        if not self.waiting:
            return []
        living = self._count([*self.waiting_groups(), *parked])
        released: list[Group] = []
        for number in sorted({self._number(group) for group in self.waiting_groups()}):
            mine = [(g, r) for g, r in self.waiting if self._number(g) == number]
            rows = self._complete(number, [g for g, _ in mine], living)
            if rows.any():
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
        rows = (come == living) & (come > 0)
        counts = [int(np.max(g.barrier[1])) for g in groups if g.barrier and g.barrier[1] is not None]
        if counts:
            early = self._arrived.get(number, np.zeros_like(come))
            rows |= (come > 0) & (come + early >= max(counts))
        return rows

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
        waited = [group for group, _ in mine]
        is_for_all = all(group.barrier is None or group.barrier[1] is None for group in waited)
        self._tally.meet(
            None if rows.all() else np.flatnonzero(rows),
            None if is_for_all else self._warps_of(waited),
            self._number(waited[0]),
        )
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
        if self._races is not None:
            self._races.advance(None if rows.all() else np.flatnonzero(rows))
        return released

    def _warps_of(self, groups: list[Group]) -> Array:
        """(blocks, warps): those with a lane in one of these groups."""
        width = self._geometry.warps_per_block
        members = np.zeros(self._geometry.num_blocks * width, dtype=np.bool_)
        for group in groups:
            base = group.lanes.base
            members[group.lanes.compress(base.block * width + base.thread // WARP)] = True
        return members.reshape(-1, width)

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
        else:
            what = (
                f"deadlock: threads of one block wait at different barriers ({places}); every thread of the "
                "block must reach the same __syncthreads()"
            )
        return KernelFault(
            FaultKind.DEADLOCK, what, lines[0] if lines else None, lines[1] if len(lines) > 1 else None
        )


def _per_lane(totals: Array, group: Group) -> Value:
    return totals[group.lanes.base.block]
