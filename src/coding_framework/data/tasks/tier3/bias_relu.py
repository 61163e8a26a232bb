"""y = max(x + bias, 0), bias along the columns.

Error: one rounding, at most 2**-24 of the result.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import ROWS_HIDDEN, ROWS_VISIBLE, kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    total = inputs["x"] + inputs["bias"]
    return {"y": xp.where(total > 0, total, xp.zeros_like(total))}


def task() -> Task:
    return make_task(
        name="bias_relu",
        title="Fused bias and ReLU",
        tier=3,
        family="bias_activation",
        description=(
            "Add a bias to each row of a row-major matrix x with rows x cols elements, then ReLU: "
            "y[r * cols + c] = max(x[r * cols + c] + bias[c], 0)."
        ),
        dimensions=("rows", "cols"),
        inputs={"x": ("rows", "cols"), "bias": ("cols",)},
        outputs={"y": ("rows", "cols")},
        visible_shapes=ROWS_VISIBLE,
        hidden_shapes=ROWS_HIDDEN,
        timing_shape={"rows": 1024, "cols": 1024},
        gpu_timing_shape={"rows": 2048, "cols": 2048},
        tolerance=Tolerance(relative=1e-6, absolute=1e-7),
        operations="2*rows*cols",
        baseline=kernel_source(__package__, "bias_relu"),
        oracle=oracle,
    )
