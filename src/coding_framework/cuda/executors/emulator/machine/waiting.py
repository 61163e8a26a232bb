"""How a group that waits is told from one that works.

A group that comes back to where it was, with the same registers, while no memory has changed and no
clock was read, runs in a circle until somebody else writes. It is then set aside until something
changes, so that locks, flags and barriers of the whole grid come to an end. A group that only takes its
time (a loop that counts, a look at the clock) is not set aside: waiting by time is no waiting.
"""

from __future__ import annotations

from dataclasses import dataclass

from coding_framework.cuda.executors.emulator.dtypes import Value
from coding_framework.cuda.executors.emulator.machine.group import Group
from coding_framework.cuda.executors.emulator.machine.lanes import Base

MAX_LOOKS = 8
"""Looks at memory in which nothing has changed, after which others have their turn."""
FIRST_LOOK_STEPS = 16
"""Steps without a change after which a place is remembered; then after twice as many, and so on."""


class Changes:
    """Counts what could end a wait; shared by all chunks of a launch."""

    def __init__(self) -> None:
        self.count = 0


@dataclass(frozen=True)
class _Place:
    """Where a group was."""

    pc: int
    base: Base
    mask: bytes
    registers: dict[int, Value]

    def is_of(self, group: Group) -> bool:
        return (
            group.pc == self.pc
            and (group.lanes.base is self.base or _same_lanes(group.lanes.base, self.base))
            and _mask_of(group) == self.mask
            and all(_same(group.registers[i], value) for i, value in self.registers.items())
        )


class SpinWatch:
    """Looks at the groups of a chunk step by step, and remembers one place at a time."""

    def __init__(self, changes: Changes) -> None:
        self._changes = changes
        self._count = -1
        self._steps = 0
        self._looks = 0
        self._next_look = FIRST_LOOK_STEPS
        self._place: _Place | None = None

    def finds_waiting(self, group: Group, live: frozenset[int]) -> bool:
        """Whether a group that is about to run a block was here before, and nothing has changed."""
        if self._count != self._changes.count:
            self._count, self._steps, self._next_look = self._changes.count, 0, FIRST_LOOK_STEPS
            self._place, self._looks = None, 0
        self._steps += 1
        if self._place is not None and self._place.pc == group.pc and self._place.is_of(group):
            return True
        if self._steps >= self._next_look:
            self._next_look *= 2
            registers = {i: group.registers[i] for i in live}
            self._place = _Place(group.pc, group.lanes.base, _mask_of(group), registers)
        return False

    def looks_in_vain(self) -> bool:
        """Counts a look at memory; whether there were many since it changed."""
        self._looks += 1
        return self._looks > MAX_LOOKS and self._count == self._changes.count


def _mask_of(group: Group) -> bytes:
    return b"" if group.lanes.mask is None else group.lanes.full_mask.tobytes()


def _same_lanes(one: Base, other: Base) -> bool:
    return one.shape == other.shape and one.lane_ids.tobytes() == other.lane_ids.tobytes()


def _same(one: Value, other: Value) -> bool:
    return one is other or (one.shape == other.shape and one.tobytes() == other.tobytes())
