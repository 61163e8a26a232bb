"""Cosine of the angle between row r of a and row r of b.

Error: dot product and squares err by about sqrt(k) * 2**-24 of |a| |b|, so the cosine errs by some
1e-6 at worst over rows of 261 however small it is: that is the absolute part, doubled. The quotient
adds a few 2**-24 relative.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import ROWS_VISIBLE, SHORT_ROWS_HIDDEN, kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance

EPSILON = 1e-8


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    a, b = inputs["a"], inputs["b"]
    lengths = xp.sqrt(xp.sum(a * a, axis=1)) * xp.sqrt(xp.sum(b * b, axis=1))
    return {"y": xp.sum(a * b, axis=1) / (lengths + EPSILON)}


def task() -> Task:
    return make_task(
        name="cosine_similarity",
        title="Cosine similarity of rows",
        tier=2,
        family="distance",
        description=(
            "Cosine similarity of corresponding rows of two row-major matrices a and b with rows x cols "
            "elements each: y[r] = dot_r / (sqrt(sum over c of a[r * cols + c]^2) * "
            "sqrt(sum over c of b[r * cols + c]^2) + 1e-8), where dot_r = sum over c of "
            "a[r * cols + c] * b[r * cols + c]."
        ),
        dimensions=("rows", "cols"),
        inputs={"a": ("rows", "cols"), "b": ("rows", "cols")},
        outputs={"y": ("rows",)},
        scalars={"eps": EPSILON},
        visible_shapes=ROWS_VISIBLE,
        hidden_shapes=SHORT_ROWS_HIDDEN,
        timing_shape={"rows": 1024, "cols": 256},
        gpu_timing_shape={"rows": 16384, "cols": 256},
        distributions=("normal", "uniform", "large", "outliers"),
        tolerance=Tolerance(relative=1e-5, absolute=2e-6),
        operations="6*rows*cols",
        baseline=kernel_source(__package__, "cosine_similarity"),
        oracle=oracle,
    )
