"""y = x / sqrt(mean(x * x) + eps) * weight, row by row.

Error: a sum of k positive terms (relative error near sqrt(k) * 2**-24) and a few roundings, all
relative. Inputs scaled by 1e-3 make eps matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import ROWS_HIDDEN, ROWS_VISIBLE, kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance

EPSILON = 1e-5


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    x = inputs["x"]
    mean_square = xp.mean(x * x, axis=1, keepdims=True)
    return {"y": x / xp.sqrt(mean_square + EPSILON) * inputs["weight"]}


def task() -> Task:
    return make_task(
        name="rms_norm",
        title="RMSNorm with weight",
        tier=3,
        family="normalisation",
        description=(
            "RMSNorm of each row of a row-major matrix x with rows x cols elements: "
            "y[r * cols + c] = x[r * cols + c] / sqrt(ms_r + 1e-5) * weight[c], where "
            "ms_r is the mean of x[r * cols + c]^2 over row r."
        ),
        dimensions=("rows", "cols"),
        inputs={"x": ("rows", "cols"), "weight": ("cols",)},
        outputs={"y": ("rows", "cols")},
        scalars={"eps": EPSILON},
        visible_shapes=ROWS_VISIBLE,
        hidden_shapes=ROWS_HIDDEN,
        timing_shape={"rows": 4096, "cols": 256},
        gpu_timing_shape={"rows": 16384, "cols": 256},
        distributions=("normal", "large", "small", "outliers"),
        tolerance=Tolerance(relative=1e-4, absolute=1e-6),
        operations="5*rows*cols",
        baseline=kernel_source(__package__, "rms_norm"),
        oracle=oracle,
    )
