"""cvt: between every pair of integer and float types, with rounding and saturation."""

from __future__ import annotations

import numpy as np

from coding_framework.cuda.executors.emulator.dtypes import NUMPY, Value
from coding_framework.cuda.executors.emulator.ops import floating, half
from coding_framework.cuda.executors.emulator.ops.integer import select

F32, F64 = np.float32, np.float64
_ROUND = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}


def integer_to_integer(a: Value, target: str, saturate: bool) -> Value:
    kind = NUMPY[target]
    if saturate:
        limits = np.iinfo(str(kind))
        low, high = np.iinfo(a.dtype).min, np.iinfo(a.dtype).max
        a = np.clip(a, max(limits.min, low), min(limits.max, high))
    return a.astype(kind)


def integer_to_float(a: Value, target: str, mode: str) -> Value:
    """rn is NumPy's own; directed modes compare the rounded value with the integer."""
    kind = NUMPY[target].type
    rounded = a.astype(kind)
    if mode == "rn":
        return rounded
    back = rounded.astype(F64)
    exact = a.astype(F64)
    error = select(np.abs(exact) < 2.0**53, F64(0) * exact, (a - exact.astype(a.dtype)).astype(F64))
    return floating.round_directed(select(back == exact, exact, exact), error, mode, kind)


def float_to_integer(a: Value, target: str, mode: str) -> Value:
    """Out-of-range values clamp to the nearest integer of the type; NaN becomes 0."""
    kind = NUMPY[target]
    limits = np.iinfo(str(kind))
    rounded = _ROUND[mode](a.astype(F64))
    low, high = F64(limits.min), F64(limits.max)
    inside = np.clip(select(np.isnan(rounded), F64(0) + np.zeros_like(rounded), rounded), low, high)
    if kind.itemsize < 8:
        return inside.astype(np.int64).astype(kind)
    too_high = inside >= high
    exact = select(too_high, np.zeros_like(inside), inside).astype(kind)
    return select(too_high, kind.type(limits.max), exact)


def float_to_float(a: Value, target: str, mode: str) -> Value:
    """Between f32 and f64, or to an integral value of the same type."""
    kind = NUMPY[target].type
    if mode in _ROUND:
        return _ROUND[mode](a).astype(kind)
    if mode == "rn" or a.dtype.itemsize <= NUMPY[target].itemsize:
        return a.astype(kind)
    return floating.round_directed(a.astype(F64), F64(0) * np.zeros_like(a), mode, kind)


def half_to_float(a: Value, source: str, target: str) -> Value:
    return half.decode(a, source).astype(NUMPY[target])


def pack_halves(high: Value, low: Value, kind: str, mode: str, relu: bool) -> Value:
    """cvt.rn.f16x2.f32 d, a, b: a goes to the upper half."""
    if relu:
        high, low = np.fmax(high, F32(0)), np.fmax(low, F32(0))
    return half.pack(half.encode(low, kind, mode), half.encode(high, kind, mode))
