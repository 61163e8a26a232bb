"""s = x + residual, and y = s / sqrt(mean(s * s) + eps) * weight, row by row; both are wanted.

Error: the sum is rounded once (cancellation costs 2**-24 of the terms and passes into y divided by the
root of the mean square), a sum of k positive terms adds near sqrt(k) * 2**-24, the rest a few 2**-24.
Inputs scaled by 1e-3 make eps matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import ROWS_VISIBLE, SHORT_ROWS_HIDDEN, kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance

EPSILON = 1e-5


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    total = inputs["x"] + inputs["residual"]
    mean_square = xp.mean(total * total, axis=1, keepdims=True)
    return {"s": total, "y": total / xp.sqrt(mean_square + EPSILON) * inputs["weight"]}


def task() -> Task:
    return make_task(
        name="residual_rms_norm",
        title="Fused residual and RMSNorm",
        tier=3,
        family="normalisation",
        description=(
            "Add a residual, keep the sum, and RMSNorm it row by row; x, residual, s and y are row-major, "
            "rows x cols elements: s[r * cols + c] = x[r * cols + c] + residual[r * cols + c], and y[r * "
            "cols + c] = s[r * cols + c] / sqrt(ms_r + 1e-5) * weight[c], where ms_r is the mean of s[r * "
            "cols + c]^2 over row r. Both s and y are outputs."
        ),
        dimensions=("rows", "cols"),
        inputs={"x": ("rows", "cols"), "residual": ("rows", "cols"), "weight": ("cols",)},
        outputs={"s": ("rows", "cols"), "y": ("rows", "cols")},
        scalars={"eps": EPSILON},
        visible_shapes=ROWS_VISIBLE,
        hidden_shapes=SHORT_ROWS_HIDDEN,
        timing_shape={"rows": 1024, "cols": 256},
        gpu_timing_shape={"rows": 16384, "cols": 256},
        distributions=("normal", "small", "outliers"),
        tolerance=Tolerance(relative=2e-5, absolute=2e-6),
        operations="6*rows*cols",
        baseline=kernel_source(__package__, "residual_rms_norm"),
        oracle=oracle,
    )
