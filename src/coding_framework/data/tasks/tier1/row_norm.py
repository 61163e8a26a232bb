"""y[r] = Euclidean norm of row r.

Error: the squares share a sign, so a sequential sum of k of them is off by at most k / 2 * 2**-24 of
itself, and the root halves that: 8e-6 for 515 terms, at any scale. Rounding errors are rarely of one
sign, so what is seen is a tenth of it. The budget leaves a factor of two over the bound; the absolute
part is next to nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import ROWS_HIDDEN, ROWS_VISIBLE, kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    x = inputs["x"]
    return {"y": xp.sqrt(xp.sum(x * x, axis=1))}


def task() -> Task:
    return make_task(
        name="row_norm",
        title="Euclidean norm of rows",
        tier=1,
        family="row_reduction",
        description=(
            "Euclidean norm of each row of a row-major matrix x with rows x cols elements: y[r] = "
            "sqrt(sum over c of x[r * cols + c]^2)."
        ),
        dimensions=("rows", "cols"),
        inputs={"x": ("rows", "cols")},
        outputs={"y": ("rows",)},
        visible_shapes=ROWS_VISIBLE,
        hidden_shapes=ROWS_HIDDEN,
        timing_shape={"rows": 2048, "cols": 256},
        gpu_timing_shape={"rows": 16384, "cols": 256},
        distributions=("normal", "large", "small", "outliers"),
        tolerance=Tolerance(relative=1.5e-5, absolute=1e-9),
        operations="2*rows*cols",
        baseline=kernel_source(__package__, "row_norm"),
        oracle=oracle,
    )
