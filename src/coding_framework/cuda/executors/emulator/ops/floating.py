"""Floating-point instructions on f32 and f64.

`fma.rn.f32` forms the exact product in float64, adds there and rounds once to float32: the sum may
round twice, which can differ from a true fused result in the last bit about once in 2**29. Directed
roundings (rz, rm, rp) use the exact error of the sum, so they are right always. `fma.rn.f64` uses
error-free transformations. Approximate functions are computed to float32 accuracy, which is inside
the error that the PTX specification allows, and not bit-equal to a GPU.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from coding_framework.cuda.executors.emulator.dtypes import Value
from coding_framework.cuda.executors.emulator.ops.integer import select

F32, F64 = np.float32, np.float64
_SMALLEST = {4: F32(1.1754944e-38), 8: F64(2.2250738585072014e-308)}


def fma_f32(a: Value, b: Value, c: Value) -> Value:
    product = a.astype(F64) * b
    if product.ndim and (c.ndim == 0 or c.shape == product.shape):
        product += c
        return product.astype(F32)
    return (product + c).astype(F32)


def flush(a: Value) -> Value:
    """.ftz: subnormals become zero of the same sign."""
    return select(np.abs(a) < _SMALLEST[a.dtype.itemsize], np.copysign(a.dtype.type(0), a), a)


def saturate(a: Value) -> Value:
    """.sat: into [0, 1], NaN to 0."""
    one, zero = a.dtype.type(1), a.dtype.type(0)
    return np.fmin(np.fmax(a, zero), one) + zero


def two_sum(a: Value, b: Value) -> tuple[Value, Value]:
    """The rounded sum and its exact error."""
    total = a + b
    shadow = total - a
    error = (a - (total - shadow)) + (b - shadow)
    return total, select(np.isfinite(total), error, F64(0) * np.abs(np.sign(total)))


def two_product(a: Value, b: Value) -> tuple[Value, Value]:
    """The rounded product and its exact error (float64, no overflow in the split)."""
    product = a * b
    a_high, a_low = _split(a)
    b_high, b_low = _split(b)
    error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return product, select(np.isfinite(error), error, F64(0))


def _split(a: Value) -> tuple[Value, Value]:
    scaled = a * F64(134217729.0)
    high = scaled - (scaled - a)
    return high, a - high


def fma_f64(a: Value, b: Value, c: Value) -> Value:
    product, product_error = two_product(a, b)
    total, sum_error = two_sum(product, c)
    exact = total + (product_error + sum_error)
    return select(np.isfinite(total), exact, total)


def round_directed(total: Value, error: Value, mode: str, kind: Any) -> Value:
    """Round total + error to f32 or f64, towards zero, down or up."""
    rounded = total.astype(kind)
    wide = rounded.astype(F64)
    above = (wide > total) | ((wide == total) & (error < 0))
    below = (wide < total) | ((wide == total) & (error > 0))
    negative = (total < 0) | ((total == 0) & (error < 0))
    down, up = {
        "rz": (above & ~negative, below & negative),
        "rm": (above, above & below),
        "rp": (above & below, below),
    }[mode]
    rounded = select(down & ~np.isnan(rounded), np.nextafter(rounded, kind(-np.inf)), rounded)
    return select(up & ~np.isnan(rounded), np.nextafter(rounded, kind(np.inf)), rounded)


def directed(operation: str, mode: str, a: Value, b: Value, c: Value | None = None) -> Value:
    """add, sub, mul, fma under a directed rounding, for f32 and f64."""
    kind = a.dtype.type
    wide_a, wide_b = a.astype(F64), b.astype(F64)
    if operation in ("add", "sub"):
        total, error = two_sum(wide_a, -wide_b if operation == "sub" else wide_b)
        return round_directed(total, error, mode, kind)
    product, product_error = two_product(wide_a, wide_b) if kind is F64 else (wide_a * wide_b, F64(0))
    if c is None:
        return round_directed(product, product_error + product * F64(0), mode, kind)
    total, error = two_sum(product, c.astype(F64))
    return round_directed(total, error + product_error, mode, kind)


def directed_quotient(mode: str, a: Value, b: Value) -> Value:
    """div and rcp: the residual tells on which side the rounded quotient lies."""
    kind = a.dtype.type
    quotient = (a.astype(F64) / b.astype(F64)) if kind is F32 else a / b
    product, product_error = two_product(quotient, b.astype(F64))
    residual = (a.astype(F64) - product) - product_error
    error = select(np.isfinite(residual), residual * np.sign(b.astype(F64)), F64(0) * quotient)
    return round_directed(quotient, error, mode, kind)


def directed_root(mode: str, a: Value) -> Value:
    root = np.sqrt(a.astype(F64))
    product, product_error = two_product(root, root)
    residual = (a.astype(F64) - product) - product_error
    return round_directed(root, select(np.isfinite(residual), residual, F64(0) * root), mode, a.dtype.type)


def hardware_tanh(a: Value) -> Value:
    """`tanh.approx.f32`: right to about 11 bits, as the hardware's is."""
    bits = np.tanh(a).astype(np.float32).view(np.uint32)
    return ((bits + np.uint32(0x800)) & np.uint32(0xFFFFF000)).view(np.float32)


def reciprocal_root(a: Value) -> Value:
    kind = a.dtype.type
    return (F64(1) / np.sqrt(a.astype(F64))).astype(kind)


def reciprocal(a: Value) -> Value:
    return a.dtype.type(1) / a


def minimum(a: Value, b: Value) -> Value:
    """Number beats NaN; -0 is below +0."""
    result = np.fmin(a, b)
    return select((a == 0) & (b == 0), select(np.signbit(a), a, b), result)


def maximum(a: Value, b: Value) -> Value:
    result = np.fmax(a, b)
    return select((a == 0) & (b == 0), select(np.signbit(a), b, a), result)


def test_property(a: Value, name: str) -> Value:
    """testp."""
    tiny = _SMALLEST[a.dtype.itemsize]
    finite = np.isfinite(a)
    normal = finite & (np.abs(a) >= tiny)
    return {
        "finite": finite,
        "infinite": np.isinf(a),
        "number": ~np.isnan(a),
        "notanumber": np.isnan(a),
        "normal": normal,
        "subnormal": finite & ~normal & (a != 0),
    }[name]
