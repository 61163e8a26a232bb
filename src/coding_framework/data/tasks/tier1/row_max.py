"""y[r] = largest element of row r.

Error: none, a value is copied; the budget is one rounding.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import ROWS_HIDDEN, ROWS_VISIBLE, kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    return {"y": xp.max(inputs["x"], axis=1)}


def task() -> Task:
    return make_task(
        name="row_max",
        title="Row maximum",
        tier=1,
        family="row_reduction",
        description=(
            "Find the largest element of each row of a row-major matrix x with rows x cols elements: y[r] "
            "= max over c of x[r * cols + c]."
        ),
        dimensions=("rows", "cols"),
        inputs={"x": ("rows", "cols")},
        outputs={"y": ("rows",)},
        visible_shapes=ROWS_VISIBLE,
        hidden_shapes=ROWS_HIDDEN,
        timing_shape={"rows": 2048, "cols": 256},
        gpu_timing_shape={"rows": 16384, "cols": 256},
        distributions=("normal", "large", "outliers", "constant_rows", "far_below"),
        tolerance=Tolerance(relative=1e-7, absolute=1e-9),
        operations="rows*cols",
        baseline=kernel_source(__package__, "row_max"),
        oracle=oracle,
    )
