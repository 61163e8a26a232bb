"""y[r] = sum of row r of int32 elements, for few long rows.

Error: none, integers are compared exactly, and their sums do not depend on the order: atomic additions
are as right as a tree. Values of some hundreds over half a million columns stay far below 2**31.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import ROWS_HIDDEN, ROWS_VISIBLE, kernel_source, make_task
from coding_framework.records import Dimensions, Task


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    return {"y": xp.sum(inputs["x"], axis=1)}


def task() -> Task:
    return make_task(
        name="row_sum_int32",
        title="Sum of long integer rows",
        tier=1,
        family="row_reduction",
        description=(
            "Sum each row of a row-major int32 matrix x with rows x cols elements, few rows and many "
            "columns: y[r] = sum over c of x[r * cols + c]. The sums fit into an int. y is not zero at "
            "the start."
        ),
        dimensions=("rows", "cols"),
        inputs={"x": ("rows", "cols")},
        outputs={"y": ("rows",)},
        visible_shapes=ROWS_VISIBLE,
        hidden_shapes=ROWS_HIDDEN,
        timing_shape={"rows": 8, "cols": 2**16},
        gpu_timing_shape={"rows": 8, "cols": 2**19},
        dtypes={"x": "int32", "y": "int32"},
        distributions=("large", "integers", "outliers"),
        operations="rows*cols",
        baseline=kernel_source(__package__, "row_sum_int32"),
        oracle=oracle,
    )
