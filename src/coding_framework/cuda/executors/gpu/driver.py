"""The few calls of the CUDA driver that a worker needs, each checked.

Only worker processes import this: a context is made on first use and lives as long as its process.
A sticky error (an illegal access, a trap) poisons the context: `CudaError.is_sticky` says so, and the
process is then replaced.
"""

from __future__ import annotations

import os
from functools import cache
from typing import Any

from cuda.bindings import driver

from coding_framework.cuda.executors.gpu.messages import DeviceFacts

_RECOVERABLE = {
    "CUDA_ERROR_INVALID_VALUE",
    "CUDA_ERROR_OUT_OF_MEMORY",
    "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
    "CUDA_ERROR_NOT_FOUND",
    "CUDA_ERROR_INVALID_IMAGE",
    "CUDA_ERROR_NO_BINARY_FOR_GPU",
    "CUDA_ERROR_NOT_SUPPORTED",
    "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE",
}


class CudaError(Exception):
    """A call of the driver that failed."""

    def __init__(self, status: Any) -> None:
        super().__init__(status.name)
        self.name: str = status.name

    @property
    def is_sticky(self) -> bool:
        """Whether the context is lost."""
        return self.name not in _RECOVERABLE

    @property
    def lacks_memory(self) -> bool:
        """Whether the device has too little memory left."""
        return self.name == "CUDA_ERROR_OUT_OF_MEMORY"


def call(result: tuple[Any, ...]) -> Any:
    """The value of a driver call, or `CudaError`."""
    status, *values = result
    if status != driver.CUresult.CUDA_SUCCESS:
        raise CudaError(status)
    return values[0] if len(values) == 1 else tuple(values)


@cache
def open_device(index: int) -> Any:
    """Make the context of this process; persisting L2 is switched off for everything in it.

    A launch that blocks until it has ended could never be held back (`session.Gate`).
    """
    os.environ.pop("CUDA_LAUNCH_BLOCKING", None)
    call(driver.cuInit(0))
    device = call(driver.cuDeviceGet(index))
    call(driver.cuCtxSetCurrent(call(driver.cuDevicePrimaryCtxRetain(device))))
    call(driver.cuCtxSetLimit(driver.CUlimit.CU_LIMIT_PERSISTING_L2_CACHE_SIZE, 0))
    call(driver.cuCtxSetLimit(driver.CUlimit.CU_LIMIT_MALLOC_HEAP_SIZE, 8 * 2**20))
    call(driver.cuCtxSetLimit(driver.CUlimit.CU_LIMIT_PRINTF_FIFO_SIZE, 2**20))
    return device


def attribute(device: Any, name: str) -> int:
    """One attribute, e.g. `L2_CACHE_SIZE`."""
    key = getattr(driver.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
    return int(call(driver.cuDeviceGetAttribute(key, device)))


def device_facts(device: Any) -> DeviceFacts:
    """The card, for which no context is needed."""
    return DeviceFacts(
        name=call(driver.cuDeviceGetName(128, device)).split(b"\0")[0].decode(),
        uuid=bytes(call(driver.cuDeviceGetUuid(device)).bytes).hex(),
        num_sms=attribute(device, "MULTIPROCESSOR_COUNT"),
        clock_khz=attribute(device, "CLOCK_RATE"),
        memory_clock_khz=attribute(device, "MEMORY_CLOCK_RATE"),
        memory_bus_bits=attribute(device, "GLOBAL_MEMORY_BUS_WIDTH"),
        l2_bytes=attribute(device, "L2_CACHE_SIZE"),
        memory_bytes=int(call(driver.cuDeviceTotalMem(device))),
    )


def memset(address: int, pattern: int, num_bytes: int, stream: Any) -> None:
    """Fill with a 32-bit pattern; the size is a multiple of four."""
    call(driver.cuMemsetD32Async(address, pattern, num_bytes // 4, stream))
