"""y = layer norm of (x + residual), row by row.

Error: mean and variance are sums of k terms (relative error near sqrt(k) * 2**-24), the inverse
root adds a few 2**-24, and where weight and bias cancel the error stays below 1e-5 of the terms.
Inputs scaled by 1e-3 make eps matter; scaled by 100 they make it vanish.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import ROWS_HIDDEN, ROWS_VISIBLE, kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance

EPSILON = 1e-5


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    total = inputs["x"] + inputs["residual"]
    centred = total - xp.mean(total, axis=1, keepdims=True)
    variance = xp.mean(centred * centred, axis=1, keepdims=True)
    return {"y": centred / xp.sqrt(variance + EPSILON) * inputs["weight"] + inputs["bias"]}


def task() -> Task:
    return make_task(
        name="residual_layer_norm",
        title="Fused residual and layer norm",
        tier=3,
        family="normalisation",
        description=(
            "Add a residual, then layer norm each row; x and residual are row-major, rows x cols elements. "
            "With s[r, c] = x[r * cols + c] + residual[r * cols + c]: "
            "y[r * cols + c] = (s[r, c] - mean_r) / sqrt(var_r + 1e-5) * weight[c] + bias[c], where "
            "mean_r is the mean of s over row r and var_r is the mean of (s[r, c] - mean_r)^2 over the row."
        ),
        dimensions=("rows", "cols"),
        inputs={
            "x": ("rows", "cols"),
            "residual": ("rows", "cols"),
            "weight": ("cols",),
            "bias": ("cols",),
        },
        outputs={"y": ("rows", "cols")},
        scalars={"eps": EPSILON},
        visible_shapes=ROWS_VISIBLE,
        hidden_shapes=ROWS_HIDDEN,
        timing_shape={"rows": 4096, "cols": 256},
        gpu_timing_shape={"rows": 16384, "cols": 256},
        distributions=("normal", "large", "small", "outliers"),
        tolerance=Tolerance(relative=1e-4, absolute=5e-5),
        operations="9*rows*cols",
        baseline=kernel_source(__package__, "residual_layer_norm"),
        oracle=oracle,
    )
