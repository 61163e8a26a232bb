"""The chunks of a launch, one after the other; one that only waits is set aside while the next runs.

Guaranteed: a chunk whose threads wait for a block of a later chunk is resumed when that has run. Blocks
that wait keep their place on the device, so once they fill it no other block begins, as on hardware. If
all that were begun wait and nothing changes any more, the first spins on until the launch has used up
its budget.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from coding_framework.cuda.executors.base import LaunchCounters
from coding_framework.cuda.executors.emulator.machine.barrier_clocks import BlockEpochs, WarpClocks
from coding_framework.cuda.executors.emulator.machine.global_races import GlobalRaces
from coding_framework.cuda.executors.emulator.machine.scheduler import Scheduler
from coding_framework.cuda.executors.emulator.machine.waiting import Changes

MAX_ASIDE = 16
"""Chunks that may wait at a time: each keeps its registers and its shared memory."""


@dataclass(frozen=True)
class Part:
    """A chunk, with what the races in device memory need to know of it."""

    scheduler: Scheduler
    clocks: BlockEpochs | WarpClocks
    races: GlobalRaces | None

    def run(self) -> bool:
        """Until it ends, or does nothing but wait; whether it has ended."""
        if self.races is not None:
            self.races.turn_to(self.clocks)
        return self.scheduler.run()


class Turns:
    """Runs the parts of a launch on a device that holds so many blocks at a time."""

    def __init__(self, counters: LaunchCounters, changes: Changes, num_resident_blocks: int) -> None:
        self._counters = counters
        self._changes = changes
        self._num_resident_blocks = num_resident_blocks
        self._aside: list[Part] = []

    def run(self, parts: Iterable[Part]) -> None:
        """All parts to their end, with their counts put into the launch's."""
        for part in parts:
            if not self._ends(part):
                self._aside.append(part)
            while self._is_full():
                self._end_one()
        while self._aside:
            self._end_one()

    def _ends(self, part: Part) -> bool:
        has_ended = part.run()
        if has_ended:
            part.scheduler.tally.add_to(self._counters)
        return has_ended

    def _is_full(self) -> bool:
        waiting = sum(part.scheduler.num_living_blocks() for part in self._aside)
        return waiting >= self._num_resident_blocks or len(self._aside) > MAX_ASIDE

    def _end_one(self) -> None:
        """Let those that wait go on in turn until one of them has ended."""
        while True:
            before = self._changes.count
            for part in self._aside:
                if self._ends(part):
                    self._aside.remove(part)
                    return
            if self._changes.count == before:
                self._aside[0].scheduler.wait_no_more()
