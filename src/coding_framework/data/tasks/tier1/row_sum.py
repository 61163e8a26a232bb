"""y[r] = sum of row r.

Error: a sequential float32 sum of k standard normal terms is off by about sqrt(k) * 2**-24 times its
largest partial sum: 6e-5 at worst over 65,536 rows of 256, 8e-5 over as many rows of 512. When all
terms share a sign it is off by up to k / 2 * 2**-24 of the result (1.5e-5 for 515). The budget leaves
a factor of three to four; twice as much would let outputs rounded to float16 come close to passing.
Inputs scaled by 100 would need a looser absolute budget that hides dropped elements; integers, whose
sums are exact, are drawn instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import ROWS_HIDDEN, ROWS_VISIBLE, kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    return {"y": xp.sum(inputs["x"], axis=1)}


def task() -> Task:
    return make_task(
        name="row_sum",
        title="Row sum",
        tier=1,
        family="row_reduction",
        description=(
            "Sum each row of a row-major matrix x with rows x cols elements: "
            "y[r] = sum over c of x[r * cols + c]."
        ),
        dimensions=("rows", "cols"),
        inputs={"x": ("rows", "cols")},
        outputs={"y": ("rows",)},
        visible_shapes=ROWS_VISIBLE,
        hidden_shapes=ROWS_HIDDEN,
        timing_shape={"rows": 2048, "cols": 512},
        gpu_timing_shape={"rows": 16384, "cols": 256},
        distributions=("normal", "integers", "constant_rows"),
        tolerance=Tolerance(relative=5e-5, absolute=3e-4),
        operations="rows*cols",
        baseline=kernel_source(__package__, "row_sum"),
        oracle=oracle,
    )
