"""y[r] = mean of row r.

Error: that of a row sum (about sqrt(k) * 2**-24 times its largest partial sum, which is some 3 * sqrt(k)
for k standard normal terms), divided by k: a few 2**-24 whatever the length, 2e-7 at worst over 16,384
rows of 256. Terms of one sign, as in constant rows, are off by up to k / 2 * 2**-24 of the result: 1.5e-5
for 515. The budget leaves a factor of three or more for both.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import ROWS_HIDDEN, ROWS_VISIBLE, kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    return {"y": xp.mean(inputs["x"], axis=1)}


def task() -> Task:
    return make_task(
        name="row_mean",
        title="Row mean",
        tier=1,
        family="row_reduction",
        description=(
            "Average each row of a row-major matrix x with rows x cols elements: y[r] = (sum over c of "
            "x[r * cols + c]) / cols."
        ),
        dimensions=("rows", "cols"),
        inputs={"x": ("rows", "cols")},
        outputs={"y": ("rows",)},
        visible_shapes=ROWS_VISIBLE,
        hidden_shapes=ROWS_HIDDEN,
        timing_shape={"rows": 2048, "cols": 256},
        gpu_timing_shape={"rows": 16384, "cols": 256},
        distributions=("normal", "integers", "constant_rows"),
        tolerance=Tolerance(relative=5e-5, absolute=1.5e-6),
        operations="rows*cols",
        baseline=kernel_source(__package__, "row_mean"),
        oracle=oracle,
    )
