"""y[c] = sum of column c.

Error: as for a row sum of as many terms: 6e-5 at worst over 65,536 sums of 256 standard normal terms;
terms of one sign are off by up to k / 2 * 2**-24 of the result. The budget leaves a factor of four;
integers are exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import ROWS_HIDDEN, ROWS_VISIBLE, kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    return {"y": xp.sum(inputs["x"], axis=0)}


def task() -> Task:
    return make_task(
        name="column_sum",
        title="Column sum",
        tier=1,
        family="column_reduction",
        description=(
            "Sum each column of a row-major matrix x with rows x cols elements: y[c] = sum over r of x[r "
            "* cols + c]."
        ),
        dimensions=("rows", "cols"),
        inputs={"x": ("rows", "cols")},
        outputs={"y": ("cols",)},
        visible_shapes=ROWS_VISIBLE,
        hidden_shapes=ROWS_HIDDEN,
        timing_shape={"rows": 256, "cols": 2048},
        gpu_timing_shape={"rows": 256, "cols": 16384},
        distributions=("normal", "uniform", "integers"),
        tolerance=Tolerance(relative=5e-5, absolute=3e-4),
        operations="rows*cols",
        baseline=kernel_source(__package__, "column_sum"),
        oracle=oracle,
    )
