"""float16 and bfloat16 on the emulator: what CUDA's headers make of them, against one rounding in NumPy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from emulator_support import compile_ptx, launch, run_ok

from coding_framework.cuda.elements import decode_elements, encode_elements, poison

RANDOM = np.random.default_rng(11)
TYPES = {"bfloat16": ("__nv_bfloat16", "cuda_bf16.h"), "float16": ("half", "cuda_fp16.h")}
EXACT = 0.0
APPROXIMATE = 2.0
"""Units in the last place: CUDA's half functions go through float32 and may step over a tie."""
both_types = pytest.mark.parametrize("dtype", TYPES)
Reference = Callable[[np.ndarray, np.ndarray], np.ndarray]

POISON = 0x7FC0DEAD


def apply(expression: str, dtype: str, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    name, header = TYPES[dtype]
    source = (
        f'#include <{header}>\nextern "C" __global__ void k(const {name}* x, const {name}* y, {name}* o,'
        f" int n) {{\n  typedef {name} T; typedef {name.replace('half', 'half2').replace('16', '162')} T2;\n"
        "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        f"  if (i < n) {{ T a = x[i], b = y[i]; {expression} }}\n}}\n"
    )
    buffers = {
        "x": encode_elements(a, dtype),
        "y": encode_elements(b, dtype),
        "o": poison(dtype, a.size, POISON),
    }
    out = run_ok(source, launch("k", -(-a.size // 64), 64, "x", "y", "o", a.size), buffers=buffers)
    return decode_elements(out["o"], dtype)


def drawn(dtype: str, count: int = 256) -> np.ndarray:
    values = RANDOM.normal(size=count) * np.exp2(RANDOM.integers(-3, 4, count))
    return decode_elements(encode_elements(values, dtype), dtype)


def assert_rounded_once(got: np.ndarray, exact: np.ndarray, dtype: str, units: float) -> None:
    want = decode_elements(encode_elements(exact, dtype), dtype)
    digits, least_normal = (7, 2.0**-126) if dtype == "bfloat16" else (10, 2.0**-14)
    unit = np.maximum(np.abs(want), least_normal) * 2.0**-digits
    with np.errstate(invalid="ignore"):  # the same infinity twice
        error = np.where(got == want, 0.0, np.abs(got - want))
    np.testing.assert_array_less(error, units * unit + 1e-40)


@both_types
@pytest.mark.parametrize(
    ("expression", "reference", "units"),
    [
        ("o[i] = a + b;", lambda a, b: a + b, EXACT),
        ("o[i] = a - b;", lambda a, b: a - b, EXACT),
        ("o[i] = a * b;", lambda a, b: a * b, EXACT),
        ("o[i] = a / b;", lambda a, b: a / b, APPROXIMATE),
        ("o[i] = __hfma(a, b, a);", lambda a, b: a * b + a, EXACT),
        ("o[i] = __hfma_relu(a, b, a);", lambda a, b: np.maximum(a * b + a, 0), EXACT),
        ("o[i] = __hadd_sat(a, b);", lambda a, b: np.clip(a + b, 0, 1), EXACT),
        ("o[i] = -__habs(a);", lambda a, b: -np.abs(a), EXACT),
        ("o[i] = __hmax(a, b);", np.maximum, EXACT),
        ("o[i] = __hmin_nan(a, b);", np.minimum, EXACT),
        ("o[i] = hexp(a);", lambda a, b: np.exp(a), APPROXIMATE),
        ("o[i] = hlog2(__habs(a));", lambda a, b: np.log2(np.abs(a)), APPROXIMATE),
        ("o[i] = hsqrt(__habs(a));", lambda a, b: np.sqrt(np.abs(a)), APPROXIMATE),
        ("o[i] = hrsqrt(__habs(a));", lambda a, b: 1 / np.sqrt(np.abs(a)), APPROXIMATE),
        ("o[i] = htanh(a);", lambda a, b: np.tanh(a), APPROXIMATE),
        ("o[i] = hrint(a);", lambda a, b: np.rint(a), EXACT),
        ("o[i] = hfloor(a);", lambda a, b: np.floor(a), EXACT),
        ("o[i] = a > b ? a : b;", np.maximum, EXACT),
        ("o[i] = __hisnan(a) ? b : a;", lambda a, b: a, EXACT),
        ("o[i] = T(float(a) * float(b));", lambda a, b: a * b, EXACT),
        ("o[i] = T(double(float(a)) / 3.0);", lambda a, b: a / 3.0, EXACT),
        ("o[i] = T(i * 1001);", lambda a, b: np.arange(a.size) * 1001.0, EXACT),
        ("o[i] = T((int)a);", lambda a, b: np.trunc(a), EXACT),
    ],
)
def test_a_scalar_operation_is_rounded_once(
    dtype: str, expression: str, reference: Reference, units: float
) -> None:
    a, b = drawn(dtype, 64), drawn(dtype, 64)
    assert_rounded_once(apply(expression, dtype, a, b), reference(a, b), dtype, units)


def test_a_float64_becomes_a_bfloat16_in_one_rounding() -> None:
    """1 + 2**-8 + 2**-30 lies above a tie that float32 would hide."""
    source = """
#include <cuda_bf16.h>
extern "C" __global__ void k(const double* x, __nv_bfloat16* o) {
  o[threadIdx.x] = __double2bfloat16(x[threadIdx.x]);
}"""
    x = np.array([1 + 2.0**-8 + 2.0**-30, 1 + 2.0**-8, 1 + 3 * 2.0**-8 - 2.0**-30, -1e300])
    out = run_ok(source, launch("k", 1, 4, "x", "o"), buffers={"x": x, "o": poison("bfloat16", 4, POISON)})
    assert out["o"].tolist() == [0x3F81, 0x3F80, 0x3F81, 0xFF80]


@both_types
@pytest.mark.parametrize(
    ("operation", "reference"),
    [
        ("p + q", lambda a, b: a + b),
        ("__hfma2(p, q, p)", lambda a, b: a * b + a),
        ("__hmax2(p, q)", np.maximum),
        ("__hmul2(p, q)", lambda a, b: a * b),
        ("__hgt2(p, q)", lambda a, b: (a > b) * 1.0),
        ("__habs2(__hneg2(p))", lambda a, b: np.abs(a)),
    ],
)
def test_a_pair_holds_two_results(dtype: str, operation: str, reference: Reference) -> None:
    expression = (
        "if (i % 2 == 0) { T2 p = *(const T2*)(x + i), q = *(const T2*)(y + i); "
        f"*(T2*)(o + i) = {operation}; }}"
    )
    a, b = drawn(dtype), drawn(dtype)
    assert_rounded_once(apply(expression, dtype, a, b), reference(a, b), dtype, EXACT)


@both_types
def test_a_warp_sums_halves_with_shuffles(dtype: str) -> None:
    """CUDA's headers write the shuffles of halves with WARP_SZ and registers declared without a space."""
    expression = (
        "for (int d = 16; d > 0; d /= 2) a = a + __shfl_xor_sync(0xffffffffu, a, d); "
        "T up = __shfl_down_sync(0xffffffffu, b, 1); o[i] = i % 32 == 31 ? a : up;"
    )
    a, b = np.ones(64), np.arange(64.0)
    assert "WARP_SZ" in compile_ptx(
        '#include <cuda_bf16.h>\nextern "C" __global__ void k(__nv_bfloat16* o) '
        "{ o[0] = __shfl_down_sync(0xffffffffu, o[threadIdx.x], 1); }"
    )
    got = apply(expression, dtype, a, b)
    assert got[31] == got[63] == 32.0
    assert got[:31].tolist() == list(range(1, 32))


@both_types
def test_atomics_add_halves_and_pairs(dtype: str) -> None:
    expression = "atomicAdd(o + i % 2, a); atomicAdd((T2*)(o + 2), T2(a, b));"
    name, header = TYPES[dtype]
    a, b = np.ones(64), np.full(64, 2.0)
    source = (
        f'#include <{header}>\nextern "C" __global__ void k(const {name}* x, const {name}* y, {name}* o) {{'
        f" typedef {name.replace('half', 'half2').replace('16', '162')} T2; int i = threadIdx.x;"
        f" {name} a = x[i], b = y[i]; {expression} }}"
    )
    buffers = {
        "x": encode_elements(a, dtype),
        "y": encode_elements(b, dtype),
        "o": encode_elements(np.zeros(4), dtype),
    }
    out = run_ok(source, launch("k", 1, 64, "x", "y", "o"), buffers=buffers)
    assert decode_elements(out["o"], dtype).tolist() == [32.0, 32.0, 64.0, 128.0]
