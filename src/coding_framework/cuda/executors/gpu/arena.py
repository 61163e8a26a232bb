"""Device memory of a worker: one allocation, carved anew for every measurement, with guard zones.

Every buffer is followed by a guard zone of a known pattern, and the first one is preceded by one. A
write that strays a little past a buffer changes a guard; one that strays far hits another buffer,
whose contents are checked, or unmapped memory, which faults, or what is left free between the places of a
buffer, where nobody looks: in the arena of the checks there is no such gap.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from cuda.bindings import driver

from coding_framework.cuda.executors.gpu.driver import CudaError, call, memset
from coding_framework.cuda.executors.gpu.ipc import handle_bytes
from coding_framework.cuda.executors.gpu.layout import (
    GUARD_BYTES,
    GUARD_PATTERN,
    Place,
    lay_out,
    padded,
)
from coding_framework.errors import DeviceFull


class Arena:
    """Grows when it must, which changes the handle under which another process can open it.

    Whoever has it open must close it first: the judge asks `arena_bytes` before, and tells the verifier.
    """

    def __init__(self, *, start_bytes: int, fair_bytes: int) -> None:
        self._start_bytes = start_bytes
        self._fair_bytes = fair_bytes
        self._base = 0
        self.capacity = 0
        self.handle = b""

    def carve(self, sizes: dict[str, tuple[int, int]], stream: Any) -> dict[str, Place]:
        """Name → (bytes, slots) laid out with guards, the guards freshly painted."""
        layout = lay_out(sizes)
        carved = layout.at(self.reserve(layout.num_bytes))
        memset(self._base, GUARD_PATTERN, GUARD_BYTES, stream)
        for place in carved.values():
            _paint(place, stream)
        return carved

    def touched(self, places: dict[str, Place], staging: PinnedMemory, stream: Any) -> str | None:
        """The first buffer whose guard was written to; waits once for all guards."""
        columns = [_Guards(next(iter(places)), self._base, GUARD_BYTES, 1, GUARD_BYTES)]
        columns += [_guards_of(place) for place in places.values()]
        host, at = staging.reserve(sum(guards.num_bytes for guards in columns)), 0
        words: list[npt.NDArray[np.uint32]] = []
        for guards in columns:
            words.append(host[at : at + guards.num_bytes].view(np.uint32))
            guards.download(words[-1], stream)
            at += guards.num_bytes
        call(driver.cuStreamSynchronize(stream))
        found = zip(columns, words, strict=True)
        return next((guards.name for guards, read in found if (read != GUARD_PATTERN).any()), None)

    def free(self) -> None:
        """Give the memory back, until it is needed again."""
        if self._base:
            call(driver.cuMemFree(self._base))
            self._base = self.capacity = 0
            self.handle = b""

    def reserve(self, num_bytes: int) -> int:
        """Make room; where it begins."""
        if num_bytes > self.capacity:
            self.free()
            capacity = max(num_bytes, self._start_bytes)
            self._base = self._allocated(capacity)
            self.capacity = capacity
            self.handle = handle_bytes(call(driver.cuIpcGetMemHandle(self._base)))
        return self._base

    def _allocated(self, num_bytes: int) -> int:
        """Where the memory is; a candidate is to blame for too little of it only if it asks for a lot."""
        try:
            return int(call(driver.cuMemAlloc(num_bytes)))
        except CudaError as error:
            if error.lacks_memory and num_bytes <= self._fair_bytes:
                raise DeviceFull(
                    f"{num_bytes:,} bytes of the GPU's memory are not free: judge with fewer workers"
                ) from error
            raise


def _paint(place: Place, stream: Any) -> None:
    guards = _guards_of(place)
    words = guards.width // 4
    call(driver.cuMemsetD2D32Async(guards.address, guards.pitch, GUARD_PATTERN, words, guards.height, stream))


@dataclass(frozen=True)
class _Guards:
    """The guards of a buffer's slots: `height` pieces of `width` bytes, `pitch` bytes apart."""

    name: str
    address: int
    width: int
    height: int
    pitch: int

    @property
    def num_bytes(self) -> int:
        return self.width * self.height

    def download(self, host: npt.NDArray[np.uint32], stream: Any) -> None:
        """Put it on the stream."""
        copy = driver.CUDA_MEMCPY2D()
        copy.srcMemoryType = driver.CUmemorytype.CU_MEMORYTYPE_DEVICE
        copy.srcDevice = self.address
        copy.srcPitch = self.pitch
        copy.dstMemoryType = driver.CUmemorytype.CU_MEMORYTYPE_HOST
        copy.dstHost = host.ctypes.data
        copy.dstPitch = self.width
        copy.WidthInBytes = self.width
        copy.Height = self.height
        call(driver.cuMemcpy2DAsync(copy, stream))


def _guards_of(place: Place) -> _Guards:
    start = place.address + padded(place.num_bytes)
    return _Guards(place.name, start, place.guard_bytes, place.num_slots, place.stride)


def download(address: int, array: np.ndarray[Any, Any], stream: Any) -> None:
    """Device to host, after everything on the stream; waits."""
    call(driver.cuMemcpyDtoHAsync(array.ctypes.data, address, array.nbytes, stream))
    call(driver.cuStreamSynchronize(stream))


class PinnedMemory:
    """Page-locked host memory, which copies need to happen behind the caller's back; grows when it must."""

    def __init__(self, num_bytes: int) -> None:
        self._address = 0
        self._capacity = 0
        self.reserve(num_bytes)

    def reserve(self, num_bytes: int) -> npt.NDArray[np.uint8]:
        """That many bytes; what was reserved before is void."""
        if num_bytes > self._capacity:
            if self._address:
                call(driver.cuMemFreeHost(self._address))
                self._address = self._capacity = 0
            self._address = int(call(driver.cuMemHostAlloc(num_bytes, 0)))
            self._capacity = num_bytes
        return np.ctypeslib.as_array((ctypes.c_uint8 * num_bytes).from_address(self._address))
