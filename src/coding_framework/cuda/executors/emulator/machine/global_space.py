"""Loads and stores to device memory, with bounds, alignment and traffic."""

from __future__ import annotations

import numpy as np

from coding_framework.cuda.executors.base import FaultKind, LaunchCounters
from coding_framework.cuda.executors.emulator.dtypes import NUMPY, Array, Value
from coding_framework.cuda.executors.emulator.faults import KernelFault
from coding_framework.cuda.executors.emulator.machine.buffers import DeviceBuffer, DeviceMemory
from coding_framework.cuda.executors.emulator.machine.counting import (
    requested_sectors,
    sectors_of_warps,
    total_of_warps,
)
from coding_framework.cuda.executors.emulator.machine.global_faults import bounds_fault
from coding_framework.cuda.executors.emulator.machine.global_races import GlobalRaces
from coding_framework.cuda.executors.emulator.machine.hand_over import HandOver
from coding_framework.cuda.executors.emulator.machine.lanes import Lanes
from coding_framework.cuda.executors.emulator.machine.tally import Tally
from coding_framework.cuda.executors.emulator.ops.integer import select
from coding_framework.cuda.executors.emulator.program.access import Access
from coding_framework.cuda.executors.emulator.program.layout import WINDOW_BITS

_SHIFT = {1: 0, 2: 1, 4: 2, 8: 3}


class GlobalSpace:
    """What `ld.global`, `st.global` and their constant relatives do."""

    def __init__(
        self,
        memory: DeviceMemory,
        counters: LaunchCounters,
        races: GlobalRaces | None,
        tally: Tally,
        hand_over: HandOver | None,
    ) -> None:
        self._memory = memory
        self._counters = counters
        self._races = races
        self._tally = tally
        self._hand_over = hand_over

    def load(self, lanes: Lanes, address: Value, access: Access) -> tuple[Value, ...]:
        address = lanes.safe(address)
        buffer = self.buffer_of(lanes, address, access)
        if buffer is None:
            return self._load_from_several(lanes, address, access)
        if access.space == "const" and not buffer.is_constant:
            raise KernelFault(
                FaultKind.OUT_OF_BOUNDS,
                f"`ld.const` reads `{buffer.name}`, which is not constant memory",
                access.line,
            )
        if access.space != "const":
            self._count(lanes, address, access, buffer, is_load=True)
            buffer.uses.add("strong load" if access.is_strong else "load")
            if self._hand_over is not None:
                self._hand_over.load(lanes, address, access, buffer)
            if self._races is not None:
                self._races.load(lanes, address, access, buffer)
        return self._take(buffer, address, access)

    @staticmethod
    def _take(buffer: DeviceBuffer, address: Value, access: Access) -> tuple[Value, ...]:
        index = (address - buffer.base) >> _SHIFT[access.element_bytes]
        view = buffer.view(access.dtype)
        if access.count == 1:
            return (view.take(index),)
        return tuple(view.take(index + position) for position in range(access.count))

    def store(self, lanes: Lanes, address: Value, values: tuple[Value, ...], access: Access) -> None:
        safe = lanes.safe(address)
        buffer = self.buffer_of(lanes, safe, access)
        if buffer is None:
            for part in self._by_buffer(lanes, safe):
                self.store(part, address, values, access)
            return
        if buffer.is_constant:
            raise KernelFault(
                FaultKind.OUT_OF_BOUNDS,
                f"the kernel writes to the __constant__ variable `{buffer.name}`",
                access.line,
            )
        self._count(lanes, safe, access, buffer, is_load=False)
        buffer.uses.add("strong store" if access.is_strong else "store")
        if self._hand_over is not None:
            self._hand_over.store(lanes, address, access, buffer)
        if lanes.mask is None and address.ndim and address.shape == lanes.base.shape:
            index = (address - buffer.base) >> _SHIFT[access.element_bytes]
            columns = [np.broadcast_to(value, lanes.base.shape) for value in values]
        else:
            index = (lanes.compress(address) - buffer.base) >> _SHIFT[access.element_bytes]
            columns = [lanes.compress(value) for value in values]
        if self._races is not None:
            self._races.store(lanes, index, columns, access, buffer)
        view = buffer.view(access.dtype)
        for position, column in enumerate(columns):
            view[index + position if position else index] = column
        if self._races is not None:
            self._races.after_store(lanes, index, columns, access, buffer)

    def buffer_of(self, lanes: Lanes, address: Value, access: Access) -> DeviceBuffer | None:
        """The buffer that all lanes address; None if there are several; a fault if there is none."""
        if address.ndim == 0:
            low = high = bits = int(address)
        else:
            low, high = int(address.min()), int(address.max())
            bits = int(np.bitwise_or.reduce(address, axis=None))
        if bits & (access.num_bytes - 1):
            self._misaligned(lanes, address, access)
        buffer = self._memory.by_window.get(low >> WINDOW_BITS)
        if buffer is not None and high + access.num_bytes <= buffer.base + buffer.size:
            return buffer
        if buffer is not None and (high >> WINDOW_BITS) in self._memory.by_window:
            windows = np.unique(address >> WINDOW_BITS)
            if len(windows) > 1 and all(int(w) in self._memory.by_window for w in windows):
                return None
        raise bounds_fault(self._memory, lanes, address, access)

    @staticmethod
    def _misaligned(lanes: Lanes, address: Value, access: Access) -> None:
        wrong = (address & (access.num_bytes - 1)) != 0
        raise KernelFault(
            FaultKind.MISALIGNED,
            f"misaligned access: `{access.text}` moves {access.num_bytes} bytes at an address that is not a "
            f"multiple of {access.num_bytes} ({lanes.describe(wrong)}); vector types such as float4 need "
            f"an index and a row length that are multiples of the vector's width",
            access.line,
        )

    def _by_buffer(self, lanes: Lanes, address: Value) -> list[Lanes]:
        windows = address >> WINDOW_BITS
        return [lanes.narrowed(windows == window) for window in np.unique(windows)]

    def _load_from_several(self, lanes: Lanes, address: Value, access: Access) -> tuple[Value, ...]:
        results: list[Value] = [NUMPY[access.dtype].type(0)] * access.count
        for part in self._by_buffer(lanes, address):
            if part.count:
                loaded = self.load(part, address, access)
                results = [select(part.full_mask, new, old) for new, old in zip(loaded, results, strict=True)]
        return tuple(results)

    def _count(
        self, lanes: Lanes, address: Value, access: Access, buffer: DeviceBuffer, *, is_load: bool
    ) -> None:
        if not self._tally.is_on:
            return
        counters, of_warps = self._counters, sectors_of_warps(lanes, address)
        sectors = total_of_warps(lanes, of_warps)
        self._tally.add_access(lanes, of_warps)
        counters.global_requests += lanes.num_warps
        counters.global_sectors += sectors
        counters.global_useful_bytes += lanes.count * access.num_bytes
        if is_load:
            counters.global_load_sectors += sectors
        else:
            counters.global_store_sectors += sectors
        self.touch(buffer, address)

    @staticmethod
    def touch(buffer: DeviceBuffer, address: Array) -> None:
        """Remember the sectors for the count of different ones."""
        buffer.touched[(address - buffer.base) >> 5] = True

    def atomic_buffer(self, lanes: Lanes, address: Value, access: Access, *, is_read: bool) -> DeviceBuffer:
        """The buffer of an atomic, its traffic counted."""
        buffer = self.buffer_of(lanes, address, access)
        if buffer is None:
            raise KernelFault(
                FaultKind.UNSUPPORTED, "one atomic instruction that addresses several buffers", access.line
            )
        self._count(lanes, address, access, buffer, is_load=False)
        buffer.uses.add("returning atomic" if is_read else access.operation)
        if self._hand_over is not None:
            self._hand_over.atomic(lanes, address, access, buffer, is_read=is_read)
        if self._tally.is_on:
            buffer.add_atomics(*requested_sectors(lanes, address - buffer.base))
        if self._races is not None:
            self._races.atomic(lanes, address, access, buffer)
        return buffer
