"""Copies by `cp.async`: begun at once, in shared memory only after the wait that covers them.

Guarantees: each thread has groups of its own; `wait_group N` lets all but its N latest groups arrive, in
the order in which they were begun, and what is never waited for arrives nowhere. The source is read when
the copy begins, which is one of the times that the hardware may choose. Not modelled: the order among
copies of one thread that overlap.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from coding_framework.cuda.executors.base import FaultKind
from coding_framework.cuda.executors.emulator.dtypes import NUMPY, Array, Value
from coding_framework.cuda.executors.emulator.faults import KernelFault
from coding_framework.cuda.executors.emulator.machine.global_space import GlobalSpace
from coding_framework.cuda.executors.emulator.machine.lanes import Lanes
from coding_framework.cuda.executors.emulator.machine.shared_space import SharedSpace
from coding_framework.cuda.executors.emulator.machine.waiting import Changes
from coding_framework.cuda.executors.emulator.program.access import Access

MAX_OUTSTANDING_BYTES = 1 << 28
"""Four times the shared memory of a chunk: more is on its way only where nobody ever waits."""
_COPY_BYTES = 1 << 10
"""What the record of a copy takes, however few its lanes are."""


class _Copy(NamedTuple):
    """One `cp.async` of some lanes; `group` is for each lane of the base the number of its group."""

    lanes: Lanes
    address: Value
    values: tuple[Value, ...]
    access: Access
    group: Array

    @property
    def num_bytes(self) -> int:
        return _COPY_BYTES + sum(int(value.nbytes) for value in self.values)


class AsyncCopies:
    """The copies of a chunk that are on their way, and the groups that each thread has closed."""

    def __init__(self, global_space: GlobalSpace, shared_space: SharedSpace, changes: Changes) -> None:
        self._global = global_space
        self._shared = shared_space
        self._changes = changes
        self._outstanding: list[_Copy] = []
        self._num_bytes = 0
        self._closed: Array = np.zeros(0, dtype=np.int64)
        """By chunk-wide lane number; empty until a copy begins."""

    def begin(
        self, lanes: Lanes, target: Value, source: Value, size: Value | None, accesses: tuple[Access, Access]
    ) -> None:
        """Bytes from `size` on are not read and arrive as zero; None: all are read."""
        if not lanes.count:
            return
        self._changes.count += 1
        geometry = lanes.base.geometry
        if not self._closed.size:
            self._closed = np.zeros(geometry.num_blocks * geometry.num_threads, dtype=np.int64)
        read, write = accesses
        values = self._fetched(lanes, source, size, read)
        self._shared.expect(lanes, target, values, write)
        copy = _Copy(lanes, target, values, write, self._closed[lanes.base.lane_ids])
        self._outstanding.append(copy)
        self._num_bytes += copy.num_bytes
        if self._num_bytes > MAX_OUTSTANDING_BYTES:
            raise KernelFault(
                FaultKind.DATA_RACE,
                "far more copies by `cp.async` are on their way than shared memory has room for; wait for "
                "them (`cp.async.wait_group`) before their places are used again",
                write.line,
            )

    def commit(self, lanes: Lanes) -> None:
        """Close the group of each lane."""
        if self._closed.size and lanes.count:
            self._changes.count += 1
            self._closed[lanes.lane_ids] += 1

    def wait(self, lanes: Lanes, num_left: int) -> None:
        """Let all but the latest groups of these lanes arrive."""
        if not self._outstanding or not lanes.count:
            return
        self._changes.count += 1
        covered, ids = np.zeros_like(self._closed), lanes.lane_ids
        covered[ids] = self._closed[ids] - num_left
        outstanding, self._outstanding = self._outstanding, []
        for copy in outstanding:
            self._arrive(copy, (copy.group < covered[copy.lanes.base.lane_ids]) & copy.lanes.full_mask)

    def _arrive(self, copy: _Copy, there: Array) -> None:
        """Some lanes of a copy; the others stay on their way."""
        if there.any():
            rest = copy.lanes.full_mask & ~there
            lanes = copy.lanes
            if rest.any():
                lanes = Lanes(lanes.base, there)
                self._outstanding.append(copy._replace(lanes=Lanes(lanes.base, rest)))
            else:
                self._num_bytes -= copy.num_bytes
            self._shared.store(lanes, copy.address, copy.values, copy.access, was_expected=True)
        else:
            self._outstanding.append(copy)

    def _fetched(self, lanes: Lanes, address: Value, size: Value | None, access: Access) -> tuple[Value, ...]:
        if size is None:
            return self._global.load(lanes, address, access)
        whole = lanes.narrowed(size >= access.num_bytes)
        if whole.count == lanes.count:
            return self._global.load(lanes, address, access)
        zero = np.zeros(lanes.base.shape, dtype=NUMPY[access.dtype])
        values = [zero] * access.count
        if whole.count:
            loaded = self._global.load(whole, address, access)
            values = [np.where(whole.full_mask, value, zero) for value in loaded]
        self._add_single_bytes(lanes.narrowed(size < access.num_bytes), address, size, access, values)
        return tuple(values)

    def _add_single_bytes(
        self, lanes: Lanes, address: Value, size: Value, access: Access, values: list[Array]
    ) -> None:
        """For lanes that read only the first bytes of an access."""
        one = Access(access.space, "u8", 1, access.line, access.text)
        for number in range(access.num_bytes):
            part = lanes.narrowed(size > number)
            if not part.count:
                return
            (byte,) = self._global.load(part, address + np.int64(number), one)
            position, place = divmod(number, access.element_bytes)
            kind = NUMPY[access.dtype].type
            moved = byte.astype(kind) << kind(8 * place)
            values[position] = values[position] | np.where(part.full_mask, moved, kind(0))
