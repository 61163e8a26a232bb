"""The judge's own kernels (`harness.cu`), loaded into a worker's context."""

from __future__ import annotations

import ctypes
import struct
from typing import Any

from cuda.bindings import driver

from coding_framework.cuda.executors.gpu.driver import attribute, call

TYPES = {"float32": 0, "float16": 1, "bfloat16": 2, "int32": 3}
DISTRIBUTIONS = {
    "normal": 0,
    "uniform": 1,
    "large": 2,
    "small": 3,
    "integers": 4,
    "constant_rows": 5,
    "outliers": 6,
    "far_below": 8,
    "far_above": 9,
}
_MIXED = 7
MAX_SHOWN = 3
_THREADS = 256
_COPIED_BYTES = 16
KERNELS = {
    "cf_fill": ("QQiiiQ", 5),
    "cf_redraw": ("QQiiiQQQ", 4),
    "cf_widen": ("QQQi", 8),
    "cf_checksum": ("QQQQ", 8),
    "cf_seal": ("QQQ", 1),
    "cf_compare": ("QQQiiddQQQ", 6),
    "cf_copy": ("QQQ", 2),
    "cf_dirty_shared": ("IIQ", 2),
    "cf_nothing": ("i", 1),
}
"""Parameters of harness.cu, as `struct` writes them, and blocks an SM."""


def distribution_code(distribution: str) -> int:
    """The number of a kind; `mixed:a,b` has its kinds as bits above the lowest eight."""
    name, _, kinds = distribution.partition(":")
    if name != "mixed":
        return DISTRIBUTIONS[name]
    return _MIXED | sum(1 << DISTRIBUTIONS[kind] for kind in kinds.split(",")) << 8


class _Kernel:
    """One of our kernels with a parameter block of its own, rewritten before each launch."""

    def __init__(self, module: Any, name: str, num_sms: int) -> None:
        layout, blocks_per_sm = KERNELS[name]
        self.function = call(driver.cuModuleGetFunction(module, name.encode()))
        self._layout = struct.Struct(layout)
        self._grid = blocks_per_sm * num_sms
        self._block = ctypes.create_string_buffer(self._layout.size)
        self._size = ctypes.c_size_t(self._layout.size)
        self._extra = (ctypes.c_void_p * 5)(
            1, ctypes.addressof(self._block), 2, ctypes.addressof(self._size), 0
        )
        self._extra_address = ctypes.addressof(self._extra)

    def launch(
        self,
        stream: Any,
        *values: float,
        block: int = _THREADS,
        shared_bytes: int = 0,
    ) -> None:
        self._layout.pack_into(self._block, 0, *values)
        grid, extra = self._grid, self._extra_address
        call(driver.cuLaunchKernel(self.function, grid, 1, 1, block, 1, 1, shared_bytes, stream, 0, extra))


class Harness:
    """Draws, widens, sums, compares and cleans on one stream."""

    def __init__(self, cubin: bytes, stream: Any, device: Any) -> None:
        module = call(driver.cuModuleLoadData(cubin))
        self._stream = stream
        self._shared_bytes = attribute(device, "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN")
        self._sink = int(call(driver.cuMemAlloc(16)))
        num_sms = attribute(device, "MULTIPROCESSOR_COUNT")
        self._kernels = {name: _Kernel(module, name, num_sms) for name in KERNELS}
        most = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        call(driver.cuFuncSetAttribute(self._kernels["cf_dirty_shared"].function, most, self._shared_bytes))

    def fill(
        self, address: int, count: int, dtype: str, distribution: str, row_length: int, seed: int
    ) -> None:
        """Draw `count` elements; the same arguments give the same bits in every process."""
        kind = distribution_code(distribution)
        self._kernels["cf_fill"].launch(self._stream, address, count, TYPES[dtype], kind, row_length, seed)

    def redraw(
        self,
        target: int,
        count: int,
        dtype: str,
        distribution: str,
        row_length: int,
        seed: int,
        *,
        key: int,
        total: int,
    ) -> None:
        """What `fill` draws, as float64 at `target`; its keyed sum is added to the number at `total`."""
        kind = distribution_code(distribution)
        self._kernels["cf_redraw"].launch(
            self._stream, target, count, TYPES[dtype], kind, row_length, seed, key, total
        )

    def widen(self, address: int, target: int, count: int, dtype: str) -> None:
        """Elements as float64."""
        self._kernels["cf_widen"].launch(self._stream, address, target, count, TYPES[dtype])

    def checksum(self, address: int, num_bytes: int, key: int, target: int) -> None:
        """Add the keyed sum of the words to the 64-bit number at `target`."""
        self._kernels["cf_checksum"].launch(self._stream, address, num_bytes, key, target)

    def seal(self, sums: int, count: int, key: int) -> None:
        """Replace that many sums under one key by what tells nothing of them."""
        self._kernels["cf_seal"].launch(self._stream, sums, count, key, block=32)

    def compare(
        self,
        actual: int,
        expected: int,
        count: int,
        dtype: str,
        absolute: float,
        relative: float,
        *,
        key: int,
        total: int,
        result: int,
    ) -> None:
        """Count wrong elements into `result` (see harness.cu); the keyed sum is added to that at `total`."""
        kind = TYPES[dtype]
        self._kernels["cf_compare"].launch(
            self._stream, actual, expected, count, kind, MAX_SHOWN, absolute, relative, key, total, result
        )

    def copy(self, target: int, source: int, num_bytes: int) -> None:
        """Between device and page-locked host memory; a multiple of 16 bytes."""
        self._kernels["cf_copy"].launch(self._stream, target, source, num_bytes // _COPIED_BYTES)

    def dirty_shared(self, pattern: int) -> None:
        """Overwrite all shared memory; blocks of this size run one to an SM."""
        self._kernels["cf_dirty_shared"].launch(
            self._stream,
            pattern,
            self._shared_bytes // 4,
            self._sink,
            block=1024,
            shared_bytes=self._shared_bytes,
        )

    def nothing(self) -> None:
        """A launch without any effect."""
        self._kernels["cf_nothing"].launch(self._stream, 0, block=1)
