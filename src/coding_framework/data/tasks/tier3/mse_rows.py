"""Mean squared error of each row.

Error: the difference and its square are rounded once each, a sum of k positive terms adds at most
k * 2**-24 and in practice near sqrt(k) of them: all relative, below 1e-5 for 261 columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import ROWS_VISIBLE, SHORT_ROWS_HIDDEN, kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    difference = inputs["x"] - inputs["target"]
    return {"loss": xp.mean(difference * difference, axis=1)}


def task() -> Task:
    return make_task(
        name="mse_rows",
        title="Mean squared error by row",
        tier=3,
        family="loss",
        description=(
            "Mean squared error of each row; x and target are row-major, rows x cols elements: loss[r] = "
            "(sum over c of (x[r * cols + c] - target[r * cols + c])^2) / cols."
        ),
        dimensions=("rows", "cols"),
        inputs={"x": ("rows", "cols"), "target": ("rows", "cols")},
        outputs={"loss": ("rows",)},
        visible_shapes=ROWS_VISIBLE,
        hidden_shapes=SHORT_ROWS_HIDDEN,
        timing_shape={"rows": 1024, "cols": 256},
        gpu_timing_shape={"rows": 16384, "cols": 256},
        distributions=("normal", "uniform", "large", "outliers"),
        tolerance=Tolerance(relative=2e-5, absolute=1e-7),
        operations="3*rows*cols",
        baseline=kernel_source(__package__, "mse_rows"),
        oracle=oracle,
    )
