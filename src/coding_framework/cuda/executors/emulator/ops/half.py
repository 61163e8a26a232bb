"""f16 and bf16: registers hold raw 16-bit patterns, arithmetic happens in float32 or float64.

Sums, products and quotients of halves rounded through float32 are right, because 24 bits are at
least 2·11 + 2; fused operations go through float64.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from coding_framework.cuda.executors.emulator.dtypes import Value
from coding_framework.cuda.executors.emulator.ops import floating

I16, U16, I32, U32 = np.int16, np.uint16, np.int32, np.uint32
F16, F32, F64 = np.float16, np.float32, np.float64


def decode(bits: Value, kind: str) -> Value:
    """Raw i16 into float32."""
    if kind == "f16":
        return bits.view(F16).astype(F32)
    return (bits.view(U16).astype(U32) << U32(16)).view(F32)


def encode(value: Value, kind: str, mode: str = "rn") -> Value:
    """float32 or float64 into raw i16, rounded once."""
    if kind == "f16":
        return _encode_f16(value, mode).view(I16)
    return _encode_bf16(_with_sticky_bit(value) if value.dtype == F64 else value, mode)


def _with_sticky_bit(value: Value) -> Value:
    """float64 into float32 towards zero, the last bit set if anything was lost: rounding that to fewer
    bits is right in every mode, while rounding to nearest twice is not."""
    nearest = value.astype(F32)
    too_far = np.abs(nearest.astype(F64)) > np.abs(value)
    cut = np.where(too_far, np.nextafter(nearest, F32(0)), nearest).astype(F32)[()]
    lost = (cut.astype(F64) != value) & ~np.isnan(value)
    return (cut.view(U32) | lost.astype(U32)).view(F32)


def _encode_f16(value: Value, mode: str) -> Value:
    rounded = value.astype(F16)
    if mode == "rn":
        return rounded
    wide, exact = rounded.astype(F64), value.astype(F64)
    toward = {"rz": F64(0), "rm": F64(-np.inf), "rp": F64(np.inf)}[mode]
    wrong = (
        (np.abs(wide) > np.abs(exact)) if mode == "rz" else (wide > exact if mode == "rm" else wide < exact)
    )
    return np.where(wrong, np.nextafter(rounded, F16(toward)), rounded)[()]


def _encode_bf16(value: Value, mode: str) -> Value:
    bits = value.view(U32)
    if mode == "rn":
        bits = bits + (U32(0x7FFF) + ((bits >> U32(16)) & U32(1)))
    elif mode in ("rm", "rp"):
        away = np.signbit(value) if mode == "rm" else ~np.signbit(value)
        bits = np.where(away & np.isfinite(value), bits + U32(0xFFFF), bits)
    high = (bits >> U32(16)).astype(U16)
    return np.where(np.isnan(value), U16(0x7FFF), high)[()].view(I16)


def unpack(pair: Value) -> tuple[Value, Value]:
    """Low and high half of a raw i32."""
    return pair.astype(I16), (pair >> I32(16)).astype(I16)


def pack(low: Value, high: Value) -> Value:
    return (low.view(U16).astype(U32) | (high.view(U16).astype(U32) << U32(16))).view(I32)


def on_pairs(function: Callable[..., Value], *pairs: Value) -> Value:
    """Apply a function of raw halves to both halves of raw pairs."""
    lows, highs = zip(*(unpack(pair) for pair in pairs), strict=True)
    return pack(function(*lows), function(*highs))


def arithmetic(name: str, kind: str, *raw: Value) -> Value:
    """One operation on raw halves of one kind."""
    values = [decode(bits, kind) for bits in raw]
    if name == "fma":
        return encode(values[0].astype(F64) * values[1] + values[2], kind)
    return encode(_OPERATIONS[name](*values), kind)


def fused_relu(kind: str, *raw: Value) -> Value:
    return encode(np.maximum(decode(arithmetic("fma", kind, *raw), kind), F32(0)), kind)


_OPERATIONS: dict[str, Callable[..., Value]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "min": floating.minimum,
    "max": floating.maximum,
    "min.NaN": np.minimum,
    "max.NaN": np.maximum,
    "neg": lambda a: -a,
    "abs": np.abs,
    "ex2": np.exp2,
    "tanh": np.tanh,
}


def saturated(name: str, kind: str, *raw: Value) -> Value:
    """.sat: the result clamped into [0, 1]."""
    return encode(floating.saturate(decode(arithmetic(name, kind, *raw), kind)), kind)
