"""Shared memory of all blocks of a chunk: one row of bytes for each block."""

from __future__ import annotations

import numpy as np

from coding_framework.cuda.executors.base import FaultKind, LaunchCounters
from coding_framework.cuda.executors.emulator.dtypes import NUMPY, Array, Value
from coding_framework.cuda.executors.emulator.faults import KernelFault
from coding_framework.cuda.executors.emulator.machine.counting import count_passes, total_of_warps
from coding_framework.cuda.executors.emulator.machine.lanes import Lanes
from coding_framework.cuda.executors.emulator.machine.shared_races import SharedRaces
from coding_framework.cuda.executors.emulator.machine.tally import Tally
from coding_framework.cuda.executors.emulator.machine.warp_sums import Amount
from coding_framework.cuda.executors.emulator.program.access import Access
from coding_framework.cuda.executors.unwritten import Unwritten

_SHIFT = {1: 0, 2: 1, 4: 2, 8: 3}


class SharedSpace:
    """What `ld.shared` and `st.shared` do."""

    def __init__(
        self,
        num_blocks: int,
        num_bytes: int,
        counters: LaunchCounters,
        races: SharedRaces | None,
        unwritten: Unwritten,
        tally: Tally,
    ) -> None:
        self.num_bytes = num_bytes
        self._stride = max(16, -(-num_bytes // 16) * 16)
        words = unwritten.words_of_chunk(num_blocks * self._stride // 4)
        self._data = words.view(np.uint8).reshape(num_blocks, self._stride)
        self._views: dict[str, Array] = {}
        self._counters = counters
        self.races = races
        self._tally = tally
        self._passes: dict[tuple[bytes, int, int, int], tuple[int, Amount]] = {}

    def view(self, dtype: str) -> Array:
        """(blocks, elements) of a type."""
        found = self._views.get(dtype)
        if found is None:
            found = self._views[dtype] = self._data.view(NUMPY[dtype])
        return found

    def load(self, lanes: Lanes, address: Value, access: Access) -> tuple[Value, ...]:
        address = lanes.safe(address)
        self.check(lanes, address, access)
        self._count(lanes, address, access)
        if self.races is not None:
            self.races.read(lanes, address, access)
        view, index = self.view(access.dtype), address >> _SHIFT[access.element_bytes]
        return tuple(self._take(view, lanes, index + p if p else index) for p in range(access.count))

    @staticmethod
    def _take(view: Array, lanes: Lanes, index: Value) -> Value:
        base = lanes.base
        if base.is_list:
            return view[base.block, index]
        if index.ndim == 0:
            column = (
                view[:, int(index)] if base.shape[0] == view.shape[0] else view[base.block[:, 0], int(index)]
            )
            return column.reshape(-1, 1).copy()
        if index.shape[0] == 1 and base.shape[0] == view.shape[0]:
            return view.take(index[0], axis=1)
        return view.reshape(-1).take(base.block * view.shape[1] + index)

    def store(
        self,
        lanes: Lanes,
        address: Value,
        values: tuple[Value, ...],
        access: Access,
        *,
        was_expected: bool = False,
    ) -> None:
        safe = lanes.safe(address)
        self.check(lanes, safe, access)
        self._count(lanes, safe, access)
        if self.races is not None:
            self.races.before_write(lanes, address, values, access, self, was_expected=was_expected)
        view, index = self.view(access.dtype), address >> _SHIFT[access.element_bytes]
        for position, value in enumerate(values):
            self._put(view, lanes, index + position if position else index, value)
        if self.races is not None:
            self.races.after_write(lanes, address, values, access, self)

    def expect(self, lanes: Lanes, address: Value, values: tuple[Value, ...], access: Access) -> None:
        """A copy begins: nothing may touch its place until it is there."""
        self.check(lanes, lanes.safe(address), access)
        if self.races is not None:
            self.races.begin_copy(lanes, address, values, access, self)

    @staticmethod
    def _put(view: Array, lanes: Lanes, index: Value, value: Value) -> None:
        base = lanes.base
        whole_rows = not base.is_list and base.shape[0] == view.shape[0]
        if whole_rows and index.ndim and index.shape[0] == 1 and index.shape[1] == base.shape[1]:
            if lanes.mask is None:
                view[:, index[0]] = value
                return
            if lanes.mask.shape[0] == 1:
                columns = np.flatnonzero(np.broadcast_to(lanes.mask, (1, base.shape[1]))[0])
                if value.ndim and value.shape[1] > 1:
                    value = value[:, columns]
                view[:, index[0, columns]] = value
                return
        flat = lanes.compress(base.block * view.shape[1] + index)
        view.reshape(-1)[flat] = lanes.compress(value)

    def differs(self, lanes: Lanes, address: Value, values: tuple[Value, ...], access: Access) -> Array:
        """For each lane, whether its place holds other bits than its values."""
        bits = f"i{8 * access.element_bytes}"
        view, index = self.view(bits), lanes.safe(address) >> _SHIFT[access.element_bytes]
        found = np.zeros(lanes.base.shape, dtype=np.bool_)
        for position, value in enumerate(values):
            found |= self._take(view, lanes, index + position) != value.view(NUMPY[bits])
        return found

    def check(self, lanes: Lanes, address: Value, access: Access) -> None:
        """Bounds and alignment."""
        low, high = int(address.min()), int(address.max())
        if low < 0 or high + access.num_bytes > self.num_bytes:
            self._out_of_bounds(lanes, address, access)
        if int(np.bitwise_or.reduce(address, axis=None)) & (access.num_bytes - 1):
            wrong = (address & (access.num_bytes - 1)) != 0
            raise KernelFault(
                FaultKind.MISALIGNED,
                f"misaligned shared-memory access: `{access.text}` moves {access.num_bytes} bytes at an "
                f"offset that is not a multiple of {access.num_bytes} ({lanes.describe(wrong)})",
                access.line,
            )

    def _out_of_bounds(self, lanes: Lanes, address: Value, access: Access) -> None:
        wrong = (address < 0) | (address + access.num_bytes > self.num_bytes)
        first = int(np.broadcast_to(address, lanes.base.shape)[np.broadcast_to(wrong, lanes.base.shape)][0])
        hint = "" if self.num_bytes else "; the launch gives no dynamic shared memory: set `shared=`"
        raise KernelFault(
            FaultKind.OUT_OF_BOUNDS,
            f"out-of-bounds shared-memory access: byte offset {first} of a block that has "
            f"{self.num_bytes} bytes of shared memory ({lanes.describe(wrong)}){hint}",
            access.line,
        )

    def _count(self, lanes: Lanes, address: Value, access: Access) -> None:
        if not self._tally.is_on:
            return
        is_plain = lanes.mask is None and not lanes.base.is_list
        if is_plain and address.ndim and address.shape[0] == 1 and address.size <= 1024:
            key = (address.tobytes(), access.num_bytes, access.num_lanes, lanes.base.shape[0])
            if key not in self._passes:
                self._passes[key] = count_passes(lanes, address, access.num_bytes, access.num_lanes)
            accesses, passes = self._passes[key]
        else:
            accesses, passes = count_passes(lanes, address, access.num_bytes, access.num_lanes)
        self._counters.shared_accesses += accesses
        self._counters.shared_passes += total_of_warps(lanes, passes)
        self._tally.add_shared_passes(lanes, passes)
