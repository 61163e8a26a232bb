"""The chunks of a launch, one after the other; one that only waits is set aside while the next runs.

Guaranteed: a chunk whose threads wait for a block of a later chunk is resumed when that has run. Blocks
that wait keep their place on the device, and no more begin than there are places for, as on hardware; when
it is full and nothing changes any more, the launch hangs. If all have begun and wait, the first spins on
until the launch has used up its budget.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from coding_framework.cuda.executors.base import FaultKind, LaunchCounters
from coding_framework.cuda.executors.emulator.device_model import H200
from coding_framework.cuda.executors.emulator.dtypes import Array
from coding_framework.cuda.executors.emulator.faults import KernelFault
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


@dataclass(frozen=True)
class Room:
    """How many blocks of a launch the device holds at a time."""

    grid_blocks: int
    """Of the whole launch."""
    at_a_time: int
    limited_by: str
    """What there would have to be more of."""


class Launch(Protocol):
    """What begins blocks."""

    @property
    def counters(self) -> LaunchCounters: ...
    @property
    def changes(self) -> Changes: ...
    def begin(self, numbers: Array) -> Part: ...


class Turns:
    """Runs the blocks of a launch on a device that has room for so many at a time."""

    def __init__(self, launch: Launch, room: Room) -> None:
        self._launch = launch
        self._room = room
        self._aside: list[Part] = []

    def run(self, chunks: Iterable[Array]) -> None:
        """All blocks to their end, with their counts put into the launch's."""
        for chunk in chunks:
            numbers = chunk
            while numbers.size:
                places = self._make_room()
                part = self._launch.begin(numbers[:places])
                numbers = numbers[places:]
                if not self._ends(part):
                    self._aside.append(part)
        while self._aside:
            if not self._go_on():
                self._aside[0].scheduler.wait_no_more()

    def _ends(self, part: Part) -> bool:
        has_ended = part.run()
        if has_ended:
            part.scheduler.tally.add_to(self._launch.counters)
        return has_ended

    def _make_room(self) -> int:
        """Places for blocks that begin; some that wait may have to end first."""
        while (places := self._num_free()) <= 0 or len(self._aside) > MAX_ASIDE:
            if self._go_on() or self._num_free() > places:
                continue
            if places <= 0:
                raise self._hang()
            self._aside[0].scheduler.wait_no_more()
        return places

    def _num_free(self) -> int:
        return self._room.at_a_time - sum(part.scheduler.num_living_blocks() for part in self._aside)

    def _go_on(self) -> bool:
        """Let those that wait go on in turn; whether anything has changed."""
        before = self._launch.changes.count
        waiting = [part for part in self._aside if not self._ends(part)]
        has_ended, self._aside = len(waiting) < len(self._aside), waiting
        return has_ended or self._launch.changes.count != before

    def _hang(self) -> KernelFault:
        room, line = self._room, self._aside[0].scheduler.line_of_waiting()
        return KernelFault(
            FaultKind.TIMEOUT,
            f"the launch hangs: {room.at_a_time} of its {room.grid_blocks} blocks wait, nothing that they "
            f"wait for changes any more, and no further block can begin beside them, because a GPU with "
            f"{H200.num_sms} SMs holds {room.at_a_time} of these blocks at a time (limited by "
            f"{room.limited_by}). A grid whose blocks wait for each other must fit: launch at most "
            f"{room.at_a_time} blocks, or make blocks that need less",
            line,
        )
