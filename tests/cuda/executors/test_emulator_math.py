"""Float functions and arithmetic against NumPy."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from emulator_support import launch, map_kernel, run_ok

RANDOM = np.random.default_rng(7)
MODERATE = np.concatenate([RANDOM.normal(0, 3, 900), [0.0, -0.0, 1.0, -1.0, 1e-6, -1e-6]]).astype(np.float32)
POSITIVE = np.abs(MODERATE) + np.float32(1e-3)


def _wide(function: object, x: np.ndarray) -> np.ndarray:
    return np.array([function(float(v)) for v in x])  # type: ignore[operator]


def _scaled(x: np.ndarray, factor: float) -> np.ndarray:
    """The float32 product that the kernel takes the function of."""
    return (x.astype(np.float32) * np.float32(factor)).astype(np.float64)


@pytest.mark.parametrize(
    ("expression", "reference", "inputs"),
    [
        ("expf(x)", np.exp, MODERATE),
        ("__expf(x)", np.exp, MODERATE),
        ("exp2f(x)", np.exp2, MODERATE),
        ("expm1f(x)", np.expm1, MODERATE),
        ("logf(x)", np.log, POSITIVE),
        ("log2f(x)", np.log2, POSITIVE),
        ("log10f(x)", np.log10, POSITIVE),
        ("log1pf(x)", np.log1p, POSITIVE),
        ("tanhf(x)", np.tanh, MODERATE),
        ("sinf(x)", np.sin, MODERATE),
        ("cosf(x)", np.cos, MODERATE),
        ("tanf(x)", np.tan, MODERATE),
        ("sinf(x * 1e6f)", lambda v: np.sin(_scaled(v, 1e6)), MODERATE),
        ("cosf(x * 3e9f)", lambda v: np.cos(_scaled(v, 3e9)), MODERATE),
        ("atanf(x)", np.arctan, MODERATE),
        ("asinf(tanhf(x))", lambda v: np.arcsin(np.tanh(v).astype(np.float32).astype(float)), MODERATE / 3),
        ("sinhf(x)", np.sinh, MODERATE),
        ("coshf(x)", np.cosh, MODERATE),
        ("sqrtf(x)", np.sqrt, POSITIVE),
        ("rsqrtf(x)", lambda v: 1 / np.sqrt(v), POSITIVE),
        ("cbrtf(x)", np.cbrt, MODERATE),
        ("powf(x, 1.7f)", lambda v: np.power(v, float(np.float32(1.7))), POSITIVE),
        ("1.0f / x", lambda v: 1 / v, POSITIVE),
        ("__fdividef(x, 3.0f)", lambda v: v / 3, MODERATE),
        ("erff(x)", lambda v: _wide(math.erf, v), MODERATE),
        ("erfcf(x)", lambda v: _wide(math.erfc, v), MODERATE / 2),
        ("lgammaf(x)", lambda v: _wide(math.lgamma, v), POSITIVE + 2),
        ("hypotf(x, 2.0f)", lambda v: np.hypot(v, 2), MODERATE),
        ("fmodf(x, 0.7f)", lambda v: np.fmod(v, float(np.float32(0.7))), MODERATE),
        ("x > 0 ? x : 0.01f * x", lambda v: np.where(v > 0, v, 0.01 * v), MODERATE),
        ("0.5f * x * (1.0f + erff(x * 0.70710678f))", lambda v: 0.5 * v * (1 + _wide(math.erf, v * 0.5**0.5)), MODERATE),  # noqa: E501
    ],
)  # fmt: skip
def test_a_math_function_agrees_with_float64(expression: str, reference: object, inputs: np.ndarray) -> None:
    expected = reference(inputs.astype(np.float64))  # type: ignore[operator]
    np.testing.assert_allclose(map_kernel(expression, inputs), expected, rtol=4e-6, atol=3e-6)


@pytest.mark.parametrize(
    ("expression", "reference"),
    [
        ("x + 1.25f", lambda x: x + np.float32(1.25)),
        ("x * x - x", lambda x: x * x - x),
        ("fmaf(x, x, -x)", lambda x: (x.astype(float) * x - x).astype(np.float32)),
        ("x / 3.0f", lambda x: x / np.float32(3)),
        ("fabsf(x)", np.abs),
        ("floorf(x)", np.floor),
        ("ceilf(x)", np.ceil),
        ("truncf(x)", np.trunc),
        ("rintf(x)", np.rint),
        ("fminf(x, 0.5f)", lambda x: np.fmin(x, np.float32(0.5))),
        ("fmaxf(x, __int_as_float(0x7fc00000))", lambda x: x),
        ("copysignf(2.0f, x)", lambda x: np.copysign(np.float32(2), x)),
        ("(float)(int)x", np.trunc),
        ("__saturatef(x)", lambda x: np.clip(x, 0, 1)),
        ("fdimf(x, 0.25f)", lambda x: np.maximum(x - np.float32(0.25), 0)),
    ],
)
def test_rounded_arithmetic_is_exact(expression: str, reference: object) -> None:
    np.testing.assert_array_equal(map_kernel(expression, MODERATE), reference(MODERATE))  # type: ignore[operator]


def test_special_values_pass_through_functions() -> None:
    x = np.array([np.inf, -np.inf, np.nan, 0.0, 1e-40, 3e38, -3e38, 88.0, -100.0], dtype=np.float32)
    np.testing.assert_allclose(map_kernel("expf(x)", x), np.exp(x), rtol=1e-5)
    np.testing.assert_allclose(map_kernel("logf(x)", x), np.log(x), rtol=1e-5)
    np.testing.assert_allclose(map_kernel("tanhf(x)", x), np.tanh(x), rtol=1e-5)


@pytest.mark.parametrize("mode", ["rn", "rz", "rd", "ru"])
def test_directed_rounding_matches_exact_arithmetic(mode: str) -> None:
    a = RANDOM.normal(0, 1, 512).astype(np.float32)
    b = RANDOM.normal(0, 1e-3, 512).astype(np.float32)
    source = f"""
extern "C" __global__ void k(const float* a, const float* b, float* sum, float* product, float* fused,
                             float* quotient, float* root, double* wide) {{
  int i = threadIdx.x;
  sum[i] = __fadd_{mode}(a[i], b[i]);
  product[i] = __fmul_{mode}(a[i], b[i]);
  fused[i] = __fmaf_{mode}(a[i], b[i], a[i]);
  quotient[i] = __fdiv_{mode}(a[i], b[i]);
  root[i] = __fsqrt_{mode}(fabsf(a[i]));
  wide[i] = __dadd_{mode}((double)a[i], (double)b[i] * 1e-12) + __fma_{mode}((double)a[i], 1e-9, 1.0);
}}"""
    names = ("sum", "product", "fused", "quotient", "root")
    buffers = {"a": a, "b": b, **{n: np.zeros(512, np.float32) for n in names}, "wide": np.zeros(512)}
    out = run_ok(source, launch("k", 1, 512, *buffers), buffers=buffers)
    for name in ("sum", "product", "fused", "quotient"):
        for got, x, y in zip(out[name][:200], a, b, strict=False):
            fx, fy = Fraction(float(x)), Fraction(float(y))
            exact = {"sum": fx + fy, "product": fx * fy, "fused": fx * fy + fx, "quotient": fx / fy}[name]
            _assert_rounded(np.float32(got), exact, mode)


def _assert_rounded(got: np.float32, exact: object, mode: str) -> None:
    assert isinstance(exact, Fraction)
    value = Fraction(float(got))
    below = Fraction(float(np.nextafter(got, np.float32(-np.inf))))
    above = Fraction(float(np.nextafter(got, np.float32(np.inf))))
    if mode == "rd" or (mode == "rz" and exact > 0):
        assert value <= exact < above
    elif mode == "ru" or mode == "rz":
        assert below < exact <= value
    else:
        assert abs(value - exact) <= min(abs(above - exact), abs(below - exact))


def test_double_precision_functions() -> None:
    x = np.concatenate([RANDOM.normal(0, 4, 300), [0.0, 1.0, -2.5]])
    source = """
extern "C" __global__ void k(const double* a, double* o, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) o[i] = exp(a[i]) + sin(a[i]) * sqrt(fabs(a[i])) / (1.0 + a[i] * a[i]) + log(1.0 + fabs(a[i]))
      + tanh(a[i]) + pow(fabs(a[i]) + 0.1, 1.5) + fma(a[i], a[i], 1.0) + rsqrt(1.0 + a[i] * a[i]);
}"""
    out = run_ok(source, launch("k", 3, 128, "a", "o", x.size), buffers={"a": x, "o": np.zeros(x.size)})
    expected = (
        np.exp(x) + np.sin(x) * np.sqrt(np.abs(x)) / (1 + x * x) + np.log(1 + np.abs(x)) + np.tanh(x)
        + np.power(np.abs(x) + 0.1, 1.5) + x * x + 1 + 1 / np.sqrt(1 + x * x)
    )  # fmt: skip
    np.testing.assert_allclose(out["o"], expected, rtol=1e-13)
