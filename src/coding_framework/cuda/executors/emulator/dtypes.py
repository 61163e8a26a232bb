"""How PTX types lie in NumPy: registers are signed integers, floats or bools; other types are views.

Storage is signed because ordinary kernels compute mostly on `s32`; a view as unsigned is free.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Value = Any
"""A NumPy scalar or an array that broadcasts to the lanes; NumPy's own types do not say "either"."""

Array = npt.NDArray[Any]
"""An array of lanes, addresses or tags, where a scalar cannot be."""

STORAGE = {
    "pred": "bool",
    "b8": "i16", "u8": "i16", "s8": "i16",
    "b16": "i16", "u16": "i16", "s16": "i16", "f16": "i16", "bf16": "i16",
    "b32": "i32", "u32": "i32", "s32": "i32", "f16x2": "i32", "bf16x2": "i32", "f32": "f32",
    "b64": "i64", "u64": "i64", "s64": "i64", "f64": "f64",
}  # fmt: skip
"""What a register of a declared type is kept as."""

ACCESS = {
    **STORAGE,
    "b8": "u8", "u8": "u8", "s8": "i8", "u16": "u16", "u32": "u32", "u64": "u64",
}  # fmt: skip
"""What an instruction of a type computes on; half types stay raw bits."""

NUMPY = {
    "bool": np.dtype(np.bool_),
    "i8": np.dtype(np.int8), "u8": np.dtype(np.uint8),
    "i16": np.dtype(np.int16), "u16": np.dtype(np.uint16),
    "i32": np.dtype(np.int32), "u32": np.dtype(np.uint32),
    "i64": np.dtype(np.int64), "u64": np.dtype(np.uint64),
    "f16": np.dtype(np.float16), "f32": np.dtype(np.float32), "f64": np.dtype(np.float64),
}  # fmt: skip


def size_of(dtype: str) -> int:
    """Bytes of a dtype name."""
    return NUMPY[dtype].itemsize


def constant(value: int | float, dtype: str, float_bits: int | None = None) -> Value:
    """A NumPy scalar of a dtype; integers wrap, raw float bits are reinterpreted."""
    kind = NUMPY[dtype]
    if dtype == "bool":
        return np.bool_(value)
    if kind.kind == "f":
        return kind.type(value)
    if float_bits is not None:
        value = float_bits
    bits = int(value) & ((1 << (8 * kind.itemsize)) - 1)
    return np.frombuffer(bits.to_bytes(kind.itemsize, "little"), kind)[0]
