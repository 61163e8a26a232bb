"""Softmax over the columns of each row.

Error: the exponent's argument is rounded once (|x - max| * 2**-24 of the value), exp adds a few
2**-24, and a sum of k positive terms at most k * 2**-24 (3e-5 for 515, far less in practice).
Inputs scaled by 100 overflow exp unless the row's maximum is subtracted first: that is wanted.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import ROWS_HIDDEN, ROWS_VISIBLE, kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    x = inputs["x"]
    exponentials = xp.exp(x - xp.max(x, axis=1, keepdims=True))
    return {"y": exponentials / xp.sum(exponentials, axis=1, keepdims=True)}


def task() -> Task:
    return make_task(
        name="softmax",
        title="Row softmax",
        tier=2,
        family="softmax",
        description=(
            "Softmax of each row of a row-major matrix x with rows x cols elements: "
            "y[r * cols + c] = exp(x[r * cols + c] - max_r) / sum over j of exp(x[r * cols + j] - max_r), "
            "where max_r is the largest element of row r."
        ),
        dimensions=("rows", "cols"),
        inputs={"x": ("rows", "cols")},
        outputs={"y": ("rows", "cols")},
        visible_shapes=ROWS_VISIBLE,
        hidden_shapes=ROWS_HIDDEN,
        timing_shape={"rows": 4096, "cols": 256},
        gpu_timing_shape={"rows": 16384, "cols": 256},
        distributions=("normal", "uniform", "large", "outliers", "far_below"),
        tolerance=Tolerance(relative=1e-4, absolute=1e-7),
        operations="5*rows*cols",
        baseline=kernel_source(__package__, "softmax"),
        oracle=oracle,
    )
