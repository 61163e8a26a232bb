"""The judge's own kernels (`harness.cu`), loaded into a worker's context."""

from __future__ import annotations

import ctypes
import struct
from typing import Any

from cuda.bindings import driver

from coding_framework.cuda.executors.gpu.driver import call

TYPES = {"float32": 0, "float16": 1, "bfloat16": 2, "int32": 3}
DISTRIBUTIONS = {
    "normal": 0,
    "uniform": 1,
    "large": 2,
    "small": 3,
    "integers": 4,
    "constant_rows": 5,
    "outliers": 6,
}
_MIXED = 7
MAX_SHOWN = 3
_BLOCKS, _THREADS = 1056, 256


def distribution_code(distribution: str) -> int:
    """The number of a kind; `mixed:a,b` has its kinds as bits above the lowest eight."""
    name, _, kinds = distribution.partition(":")
    if name != "mixed":
        return DISTRIBUTIONS[name]
    return _MIXED | sum(1 << DISTRIBUTIONS[kind] for kind in kinds.split(",")) << 8


class _Kernel:
    """One of our kernels with a parameter block of its own, rewritten before each launch."""

    def __init__(self, module: Any, name: str, layout: str) -> None:
        self.function = call(driver.cuModuleGetFunction(module, name.encode()))
        self._layout = struct.Struct(layout)
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
        grid: int = _BLOCKS,
        block: int = _THREADS,
        shared_bytes: int = 0,
    ) -> None:
        self._layout.pack_into(self._block, 0, *values)
        extra = self._extra_address
        call(driver.cuLaunchKernel(self.function, grid, 1, 1, block, 1, 1, shared_bytes, stream, 0, extra))


class Harness:
    """Draws, widens, sums, compares and cleans on one stream."""

    def __init__(self, cubin: bytes, stream: Any, *, shared_bytes: int) -> None:
        module = call(driver.cuModuleLoadData(cubin))
        self._stream = stream
        self._shared_bytes = shared_bytes
        self._sink = int(call(driver.cuMemAlloc(16)))
        self._fill = _Kernel(module, "cf_fill", "<QQiiiiQ")
        self._redraw = _Kernel(module, "cf_redraw", "<QQiiiiQQQ")
        self._widen = _Kernel(module, "cf_widen", "<QQQi")
        self._checksum = _Kernel(module, "cf_checksum", "<QQQQ")
        self._compare = _Kernel(module, "cf_compare", "<QQQiiddQi")
        self._dirty = _Kernel(module, "cf_dirty_shared", "<IIQ")
        attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        call(driver.cuFuncSetAttribute(self._dirty.function, attribute, shared_bytes))

    def fill(
        self, address: int, count: int, dtype: str, distribution: str, row_length: int, seed: int
    ) -> None:
        """Draw `count` elements; the same arguments give the same bits in every process."""
        kind = distribution_code(distribution)
        self._fill.launch(self._stream, address, count, TYPES[dtype], kind, row_length, 0, seed)

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
        self._redraw.launch(self._stream, target, count, TYPES[dtype], kind, row_length, 0, seed, key, total)

    def widen(self, address: int, target: int, count: int, dtype: str) -> None:
        """Elements as float64."""
        self._widen.launch(self._stream, address, target, count, TYPES[dtype])

    def checksum(self, address: int, num_bytes: int, key: int, target: int) -> None:
        """Add the keyed sum of the words to the 64-bit number at `target`."""
        self._checksum.launch(self._stream, address, num_bytes, key, target)

    def compare(
        self,
        actual: int,
        expected: int,
        count: int,
        dtype: str,
        absolute: float,
        relative: float,
        result: int,
    ) -> None:
        """Count wrong elements into `result` (see harness.cu)."""
        self._compare.launch(
            self._stream, actual, expected, count, TYPES[dtype], 0, absolute, relative, result, MAX_SHOWN
        )

    def dirty_shared(self, pattern: int, num_sms: int) -> None:
        """Overwrite all shared memory; blocks of this size run one to an SM."""
        self._dirty.launch(
            self._stream,
            pattern,
            self._shared_bytes // 4,
            self._sink,
            grid=2 * num_sms,
            block=1024,
            shared_bytes=self._shared_bytes,
        )
