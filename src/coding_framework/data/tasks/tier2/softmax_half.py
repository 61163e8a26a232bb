"""Softmax over the columns of each row, float16 in memory and float32 in between.

Error: in float32 as the softmax of rows (below 1e-5), then one rounding to 11 bits (relative 2**-11).
Results below 6.1e-5 are subnormal halves, whose steps are 2**-24 (6e-8): the absolute part is one of
them and a half. A maximum that is not subtracted overflows: exp(100) is no half.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import ROWS_VISIBLE, SHORT_ROWS_HIDDEN, kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    x = inputs["x"]
    exponentials = xp.exp(x - xp.max(x, axis=1, keepdims=True))
    return {"y": exponentials / xp.sum(exponentials, axis=1, keepdims=True)}


def task() -> Task:
    return make_task(
        name="softmax_half",
        title="Row softmax in float16",
        tier=2,
        family="softmax",
        description=(
            "Softmax of each row of a row-major float16 matrix x with rows x cols elements: "
            "y[r * cols + c] = exp(x[r * cols + c] - max_r) / sum over j of exp(x[r * cols + j] - max_r), "
            "where max_r is the largest element of row r. Compute in float32; only x and y are float16."
        ),
        dimensions=("rows", "cols"),
        inputs={"x": ("rows", "cols")},
        outputs={"y": ("rows", "cols")},
        dtypes={"x": "float16", "y": "float16"},
        visible_shapes=ROWS_VISIBLE,
        hidden_shapes=SHORT_ROWS_HIDDEN,
        timing_shape={"rows": 2048, "cols": 128},
        gpu_timing_shape={"rows": 32768, "cols": 256},
        distributions=("normal", "uniform", "large", "outliers", "far_below"),
        tolerance=Tolerance(relative=1e-3, absolute=1e-7),
        operations="5*rows*cols",
        baseline=kernel_source(__package__, "softmax_half"),
        oracle=oracle,
    )
