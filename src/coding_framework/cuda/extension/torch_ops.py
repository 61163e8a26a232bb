"""The library operations that a light extension may ask for, done by torch.

Names, argument order and defaults are those of torch's C++ functions, which its dispatcher keeps under
`torch.ops.aten`; only what has no such operation is written out here.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

from coding_framework.cuda.extension.tensor_backend import Device, DType, MemoryFormat

_DTYPES = {
    0: "uint8", 1: "int8", 2: "int16", 3: "int32", 4: "int64", 5: "float16", 6: "float32", 7: "float64",
    11: "bool", 15: "bfloat16", 23: "float8_e5m2", 24: "float8_e4m3fn", 27: "uint16", 28: "uint32",
    29: "uint64",
}  # fmt: skip
"""torch's ScalarType numbers."""
_MEMORY_FORMATS = ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")
_PLAIN_DTYPE = {1: "uint8", 2: "int16", 4: "int32", 8: "int64"}


class TorchOps:
    """Calls operations by name with arguments as the binding reads them."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._dtypes = {code: getattr(torch, name) for code, name in _DTYPES.items() if hasattr(torch, name)}
        self._codes = {dtype: code for code, dtype in self._dtypes.items()}
        self._own: dict[str, Callable[..., Any]] = {
            "from_blob": self._from_blob,
            "is_contiguous": lambda x, memory_format: x.is_contiguous(memory_format=memory_format),
            "requires_grad": lambda x: x.requires_grad,
            "storage_offset": lambda x: x.storage_offset(),
            "is_pinned": lambda x: x.is_pinned(),
            "pin_memory": lambda x: x.pin_memory(),
            "type_as": lambda x, other: x.type_as(other),
            "cuda_stream_from_pool": self._stream_from_pool,
            "cuda_set_stream": self._set_stream,
            "einsum": lambda equation, tensors: torch.einsum(equation, *tensors),
        }
        self._streams: list[Any] = []

    def dtype_code(self, dtype: Any) -> int:
        """torch's number of a dtype; an unknown one is an error of the caller's."""
        try:
            return self._codes[dtype]
        except KeyError:
            raise TypeError(f"extensions take no tensors of type {dtype}") from None

    def call(self, name: str, args: Sequence[object], kwargs: dict[str, object]) -> object:
        given = [self._to_torch(argument) for argument in args]
        named = {key: self._to_torch(value) for key, value in kwargs.items()}
        if name in self._own:
            return self._own[name](*given, **named)
        return getattr(self._torch.ops.aten, name)(*given, **_tidied(name, named))

    def _to_torch(self, argument: object) -> object:
        if isinstance(argument, DType):
            return self._dtypes[argument.code]
        if isinstance(argument, Device):
            kind = "cuda" if argument.type else "cpu"
            return (
                self._torch.device(kind, argument.index) if argument.index >= 0 else self._torch.device(kind)
            )
        if isinstance(argument, MemoryFormat):
            return getattr(self._torch, _MEMORY_FORMATS[argument.code])
        return argument

    def _from_blob(
        self, address: int, sizes: list[int], strides: list[int] | None, dtype: Any, device: Any
    ) -> Any:
        """A tensor over memory that somebody else owns, as in C++."""
        torch = self._torch
        steps = strides or _row_major(sizes)
        span = (
            1 + sum((size - 1) * step for size, step in zip(sizes, steps, strict=True)) if all(sizes) else 0
        )
        if span == 0:
            return torch.empty(sizes, dtype=dtype, device=device)
        plain = getattr(torch, _PLAIN_DTYPE[dtype.itemsize])
        if device.type == "cuda":
            flat = torch.as_tensor(_CudaMemory(address, span, dtype.itemsize), device=device)
        else:
            flat = torch.frombuffer(
                (ctypes.c_char * (span * dtype.itemsize)).from_address(address), dtype=plain
            )
        return flat.view(dtype).as_strided(sizes, steps)

    def _stream_from_pool(self, device_index: int) -> int:
        stream = self._torch.cuda.Stream(device=None if device_index < 0 else device_index)
        self._streams.append(stream)  # the extension knows it by its address alone
        return int(stream.cuda_stream)

    def _set_stream(self, address: int, device_index: int) -> int:
        cuda = self._torch.cuda
        known = (
            cuda.ExternalStream(address, device=device_index)
            if address
            else cuda.default_stream(device_index)
        )
        cuda.set_stream(known)
        return 0


class _CudaMemory:
    """Device memory by address, in the form that torch takes over without a copy."""

    def __init__(self, address: int, count: int, itemsize: int) -> None:
        kind = f"|u{itemsize}" if itemsize == 1 else f"<i{itemsize}"
        self.__cuda_array_interface__ = {
            "shape": (count,), "typestr": kind, "data": (address, False), "version": 2, "strides": None,
        }  # fmt: skip


def _row_major(sizes: Sequence[int]) -> list[int]:
    steps, step = [], 1
    for size in reversed(sizes):
        steps.append(step)
        step *= max(size, 1)
    return steps[::-1]


def _tidied(name: str, named: dict[str, object]) -> dict[str, object]:
    """Without the defaults that some operations do not take."""
    dropped: set[str] = {key for key in ("pin_memory", "dtype") if key in named and not named[key]}
    if name in ("zeros", "ones", "rand", "randn"):
        dropped.add("memory_format")
    return {key: value for key, value in named.items() if key not in dropped}
