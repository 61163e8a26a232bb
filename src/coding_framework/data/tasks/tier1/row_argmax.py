"""The largest element of each row, and the first column that holds it.

Error: none, a value is copied and a column counted; the float budget is one rounding, columns are
compared exactly. Whole numbers are drawn so that rows hold their largest element several times: the first
one counts. Evenly distributed values come first because their largest ones lie close together, so that a
kernel that compares rounded values picks another column in some row.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import ROWS_HIDDEN, ROWS_VISIBLE, kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    x = inputs["x"]
    return {
        "largest": xp.max(x, axis=1),
        "position": xp.astype(xp.argmax(x, axis=1), xp.float64),
    }


def task() -> Task:
    return make_task(
        name="row_argmax",
        title="Row maximum and its place",
        tier=1,
        family="row_reduction",
        description=(
            "Find the largest element of each row of a row-major matrix x with rows x cols elements, and "
            "where it is: largest[r] = max over c of x[r * cols + c], and position[r] is the smallest "
            "column c (counted from 0) with x[r * cols + c] == largest[r]."
        ),
        dimensions=("rows", "cols"),
        inputs={"x": ("rows", "cols")},
        outputs={"largest": ("rows",), "position": ("rows",)},
        visible_shapes=ROWS_VISIBLE,
        hidden_shapes=ROWS_HIDDEN,
        timing_shape={"rows": 2048, "cols": 256},
        gpu_timing_shape={"rows": 16384, "cols": 256},
        dtypes={"position": "int32"},
        distributions=("uniform", "integers", "normal", "far_below"),
        tolerance=Tolerance(relative=1e-7, absolute=1e-9),
        operations="rows*cols",
        baseline=kernel_source(__package__, "row_argmax"),
        oracle=oracle,
    )
