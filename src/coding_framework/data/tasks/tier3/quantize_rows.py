"""Rows into 16-bit whole numbers with one power of two a row, and the row's largest magnitude.

Error: none is allowed and none occurs. The scale is a power of two, so the scaled value is exact in
float32, and rounding to the nearest whole number (ties to even) has one answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import ROWS_VISIBLE, SHORT_ROWS_HIDDEN, kernel_source, make_task
from coding_framework.records import Dimensions, Task

BITS = 15
"""Bits beside the sign."""


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    x = inputs["x"]
    peak = xp.max(xp.abs(x), axis=1, keepdims=True)
    safe = xp.where(peak > 0, peak, xp.ones_like(peak))
    power = xp.round(2.0 ** (BITS - 1.0 - xp.floor(xp.log2(safe))))
    power = xp.where(safe * power >= 2.0**BITS, power / 2.0, power)
    power = xp.where(safe * power < 2.0 ** (BITS - 1), power * 2.0, power)
    whole = xp.round(x * power)
    highest = xp.full_like(whole, 2.0**BITS - 1.0)
    return {"q": xp.where(whole > highest, highest, whole), "peak": xp.reshape(peak, (-1,))}


def task() -> Task:
    return make_task(
        name="quantize_rows",
        title="Row-wise quantisation",
        tier=3,
        family="quantisation",
        description=(
            "Quantise each row of a row-major float matrix x with rows x cols elements. peak[r] is the "
            "largest |x[r * cols + c]| of row r. Let e_r be the integer with 2^(e_r - 1) <= peak[r] < "
            "2^e_r, the exponent that frexpf gives. Then q[r * cols + c] = min(rint(x[r * cols + c] * 2^(15 "
            "- e_r)), 32767), where rint rounds to the nearest integer, ties to even. If peak[r] is 0, the "
            "row of q is 0. q has rows x cols elements of type int and is compared exactly."
        ),
        dimensions=("rows", "cols"),
        inputs={"x": ("rows", "cols")},
        outputs={"q": ("rows", "cols"), "peak": ("rows",)},
        dtypes={"q": "int32"},
        visible_shapes=ROWS_VISIBLE,
        hidden_shapes=SHORT_ROWS_HIDDEN,
        timing_shape={"rows": 1024, "cols": 256},
        gpu_timing_shape={"rows": 16384, "cols": 256},
        distributions=("normal", "large", "small", "outliers"),
        operations="4*rows*cols",
        baseline=kernel_source(__package__, "quantize_rows"),
        oracle=oracle,
    )
