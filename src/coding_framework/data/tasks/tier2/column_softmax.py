"""Softmax down the rows of each column.

Error: as for the softmax of rows: the exponent's argument is rounded once, exp adds a few 2**-24, and
a sum of k positive terms at most k * 2**-24 (2e-5 for 261, far less in practice). A running maximum
rescales the sum and adds one rounding each time it grows, some ln(k) times.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import ROWS_VISIBLE, SHORT_ROWS_HIDDEN, kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    x = inputs["x"]
    exponentials = xp.exp(x - xp.max(x, axis=0, keepdims=True))
    return {"y": exponentials / xp.sum(exponentials, axis=0, keepdims=True)}


def task() -> Task:
    return make_task(
        name="column_softmax",
        title="Column softmax",
        tier=2,
        family="softmax",
        description=(
            "Softmax of each column of a row-major matrix x with rows x cols elements: "
            "y[r * cols + c] = exp(x[r * cols + c] - max_c) / sum over s of exp(x[s * cols + c] - max_c), "
            "where max_c is the largest element of column c and s runs over all rows."
        ),
        dimensions=("rows", "cols"),
        inputs={"x": ("rows", "cols")},
        outputs={"y": ("rows", "cols")},
        visible_shapes=ROWS_VISIBLE,
        hidden_shapes=[{"rows": shape["cols"], "cols": shape["rows"]} for shape in SHORT_ROWS_HIDDEN],
        timing_shape={"rows": 128, "cols": 2048},
        gpu_timing_shape={"rows": 256, "cols": 16384},
        distributions=("normal", "uniform", "large", "outliers", "far_below"),
        tolerance=Tolerance(relative=1e-4, absolute=1e-7),
        operations="5*rows*cols",
        baseline=kernel_source(__package__, "column_softmax"),
        oracle=oracle,
    )
