"""Device memory of a worker: one allocation, carved anew for every measurement, with guard zones.

Every buffer is followed by a guard zone of a known pattern, and the first one is preceded by one. A
write that strays a little past a buffer changes a guard; one that strays far hits another buffer,
whose contents are checked, or unmapped memory, which faults.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from cuda.bindings import driver

from coding_framework.cuda.executors.gpu.driver import call, memset
from coding_framework.cuda.executors.gpu.ipc import handle_bytes
from coding_framework.cuda.executors.gpu.layout import (
    GUARD_BYTES,
    GUARD_PATTERN,
    Place,
    lay_out,
    padded,
)


class Arena:
    """Grows when it must, which changes the handle under which another process can open it.

    Whoever has it open must close it first: the judge asks `arena_bytes` before, and tells the verifier.
    """

    def __init__(self, *, start_bytes: int) -> None:
        self._start_bytes = start_bytes
        self._base = 0
        self.capacity = 0
        self.handle = b""

    def carve(self, sizes: dict[str, tuple[int, int]], stream: Any) -> dict[str, Place]:
        """Name → (bytes, slots) laid out with guards, the guards freshly painted."""
        layout = lay_out(sizes)
        self._ensure(layout.num_bytes)
        memset(self._base, GUARD_PATTERN, GUARD_BYTES, stream)
        carved = {place.name: replace(place, address=self._base + place.offset) for place in layout.places}
        for place in carved.values():
            _paint(place, stream)
        return carved

    def image(self, sizes: dict[str, tuple[int, int]]) -> tuple[dict[str, Place], npt.NDArray[np.uint8]]:
        """The same layout as one piece of host memory, guards painted; for buffers that are small."""
        layout = lay_out(sizes)
        self._ensure(layout.num_bytes)
        host = np.full(layout.num_bytes // 4, GUARD_PATTERN, np.uint32).view(np.uint8)
        return {
            place.name: replace(place, address=self._base + place.offset) for place in layout.places
        }, host

    @property
    def base(self) -> int:
        return self._base

    def touched(self, places: dict[str, Place]) -> str | None:
        """The first buffer whose guard was written to."""
        if not _read(self._base, GUARD_BYTES, 1, GUARD_BYTES):
            return next(iter(places))
        for place in places.values():
            end = place.address + padded(place.num_bytes)
            if not _read(end, place.stride - padded(place.num_bytes), place.num_slots, place.stride):
                return place.name
        return None

    def _ensure(self, num_bytes: int) -> None:
        if num_bytes <= self.capacity:
            return
        if self._base:
            call(driver.cuMemFree(self._base))
            self._base = self.capacity = 0
        self.capacity = max(num_bytes, self._start_bytes)
        self._base = int(call(driver.cuMemAlloc(self.capacity)))
        self.handle = handle_bytes(call(driver.cuIpcGetMemHandle(self._base)))


def _paint(place: Place, stream: Any) -> None:
    start = place.address + padded(place.num_bytes)
    width = (place.stride - padded(place.num_bytes)) // 4
    call(driver.cuMemsetD2D32Async(start, place.stride, GUARD_PATTERN, width, place.num_slots, stream))


def _read(address: int, width: int, height: int, pitch: int) -> bool:
    """Whether every guard of a column of guards still has its pattern."""
    host = np.empty((height, width // 4), np.uint32)
    copy = driver.CUDA_MEMCPY2D()
    copy.srcMemoryType = driver.CUmemorytype.CU_MEMORYTYPE_DEVICE
    copy.srcDevice = address
    copy.srcPitch = pitch
    copy.dstMemoryType = driver.CUmemorytype.CU_MEMORYTYPE_HOST
    copy.dstHost = host.ctypes.data
    copy.dstPitch = width
    copy.WidthInBytes = width
    copy.Height = height
    call(driver.cuMemcpy2D(copy))
    return bool((host == GUARD_PATTERN).all())


def download(address: int, array: np.ndarray[Any, Any], stream: Any) -> None:
    """Device to host, after everything on the stream; waits."""
    call(driver.cuMemcpyDtoHAsync(array.ctypes.data, address, array.nbytes, stream))
    call(driver.cuStreamSynchronize(stream))


def pinned(num_bytes: int) -> int:
    """Page-locked host memory."""
    return int(call(driver.cuMemHostAlloc(num_bytes, 0)))
