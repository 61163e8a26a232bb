"""How late a thread is at the least that reads what another one wrote in the same launch.

Chunks run one after the other, and within one the groups, so a block may find what others wrote although
on a device all would run at the same time and it would find nothing. In a run that is timed, memory
therefore remembers how far its writer had come, and who reads it has come at least as far: to look
whether something is there takes as long as to wait for it. An atomic whose old value nobody asks for
reads nothing.

Not known: how far a writer had come within one block of the program; it is taken to be at its end, and
the reader at its beginning.
"""

from __future__ import annotations

import numpy as np

from coding_framework.cuda.executors.emulator.dtypes import Array, Value
from coding_framework.cuda.executors.emulator.machine.buffers import DeviceBuffer
from coding_framework.cuda.executors.emulator.machine.lanes import Lanes
from coding_framework.cuda.executors.emulator.machine.tally import Tally
from coding_framework.cuda.executors.emulator.program.access import Access

WORD_BITS = 2


class Stamps:
    """For every four bytes that a launch has written: clocks and sectors on the way to the last writer."""

    def __init__(self) -> None:
        self._planes: dict[int, Array] = {}

    def of(self, buffer: DeviceBuffer) -> Array | None:
        """(2, words), or None if nothing was written."""
        return self._planes.get(buffer.base)

    def made_for(self, buffer: DeviceBuffer) -> Array:
        """The same, made if need be."""
        if buffer.base not in self._planes:
            self._planes[buffer.base] = np.zeros((2, buffer.data.size >> WORD_BITS), dtype=np.float32)
        return self._planes[buffer.base]


class HandOver:
    """What the threads of one chunk read and write of the launch's stamps."""

    def __init__(self, stamps: Stamps, tally: Tally) -> None:
        self._stamps = stamps
        self._tally = tally

    def load(self, lanes: Lanes, address: Value, access: Access, buffer: DeviceBuffer) -> None:
        """Who reads has come as far as those who wrote that."""
        plane = self._stamps.of(buffer)
        if plane is not None:
            late = _latest(plane, _words(lanes, address, access, buffer))
            if late.any():
                self._tally.catch_up(lanes, late)

    def store(self, lanes: Lanes, address: Value, access: Access, buffer: DeviceBuffer) -> None:
        """What was written before is gone, and with it when that was."""
        plane, reached = self._stamps.made_for(buffer), self._tally.reached(lanes)
        for words in _words(lanes, address, access, buffer):
            plane[:, words] = reached

    def atomic(
        self, lanes: Lanes, address: Value, access: Access, buffer: DeviceBuffer, *, is_read: bool
    ) -> None:
        """What is there comes from all who took part; in which order they did now is not asked.

        The memory itself does one after the other in no time: who draws a ticket waits for nobody's answer.
        """
        plane, reached = self._stamps.made_for(buffer), self._tally.reached(lanes)
        if is_read:
            self.load(lanes, address, access, buffer)
        touched = _words(lanes, address, access, buffer)
        for words in touched:
            for stamps, values in zip(plane, reached, strict=True):
                np.maximum.at(stamps, words, values)
        if is_read:
            self._tally.catch_up(lanes, _latest(plane, touched), is_at_once=True)


def _latest(plane: Array, touched: list[Array]) -> Array:
    """(2, lanes): the latest of the words that each lane touches."""
    return np.asarray(np.max([plane[:, words] for words in touched], axis=0))


def _words(lanes: Lanes, address: Value, access: Access, buffer: DeviceBuffer) -> list[Array]:
    """Numbers of the words that each active lane touches, one position after the other."""
    first = (lanes.compress(address) - buffer.base) >> WORD_BITS
    return [first + position for position in range(max(1, access.num_bytes >> WORD_BITS))]
