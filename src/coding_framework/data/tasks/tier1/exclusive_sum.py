"""y[r, c] = sum of what comes before column c in row r, and the sum of the whole row beside it.

Error: the totals are row sums, and the others are sums of fewer terms: 6e-5 at worst over 65,536 rows of
256 standard normal terms. The budget leaves a factor of four and more; integers are exact. The totals are
asked for because the last column of x is in no other result.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import ROWS_VISIBLE, SHORT_ROWS_HIDDEN, kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    x = inputs["x"]
    return {"y": xp.cumulative_sum(x, axis=1) - x, "total": xp.sum(x, axis=1)}


def task() -> Task:
    return make_task(
        name="exclusive_sum",
        title="Exclusive prefix sum of rows",
        tier=1,
        family="scan",
        description=(
            "Exclusive prefix sum along each row of a row-major matrix x with rows x cols elements, and "
            "the sum of each row: y[r * cols + c] = sum over k from 0 to c - 1 of x[r * cols + k], which "
            "is 0 for c = 0, and total[r] = sum over all k of x[r * cols + k]."
        ),
        dimensions=("rows", "cols"),
        inputs={"x": ("rows", "cols")},
        outputs={"y": ("rows", "cols"), "total": ("rows",)},
        visible_shapes=ROWS_VISIBLE,
        hidden_shapes=SHORT_ROWS_HIDDEN,
        timing_shape={"rows": 1024, "cols": 128},
        gpu_timing_shape={"rows": 16384, "cols": 256},
        distributions=("normal", "uniform", "integers"),
        tolerance=Tolerance(relative=5e-5, absolute=3e-4),
        operations="rows*cols",
        baseline=kernel_source(__package__, "exclusive_sum"),
        oracle=oracle,
    )
