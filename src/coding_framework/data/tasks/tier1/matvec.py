"""y = a @ x.

Error: as for a row sum, with one more rounding a term: below 1e-4 for 515 products of standard
normal values. Integers are exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import ROWS_HIDDEN, ROWS_VISIBLE, kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    return {"y": xp.matmul(inputs["a"], inputs["x"])}


def task() -> Task:
    return make_task(
        name="matvec",
        title="Matrix-vector product",
        tier=1,
        family="matrix_product",
        description=(
            "Multiply a row-major matrix a with rows x cols elements by a vector x of cols elements: "
            "y[r] = sum over c of a[r * cols + c] * x[c]."
        ),
        dimensions=("rows", "cols"),
        inputs={"a": ("rows", "cols"), "x": ("cols",)},
        outputs={"y": ("rows",)},
        visible_shapes=ROWS_VISIBLE,
        hidden_shapes=ROWS_HIDDEN,
        timing_shape={"rows": 2048, "cols": 512},
        distributions=("normal", "uniform", "integers"),
        tolerance=Tolerance(relative=1e-4, absolute=1e-3),
        operations="2*rows*cols",
        baseline=kernel_source(__package__, "matvec"),
        oracle=oracle,
    )
