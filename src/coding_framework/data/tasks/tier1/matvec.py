"""y = a @ x.

Error: as for a row sum, with one more rounding a term: 4e-5 at worst over 65,536 rows of 256 products
of standard normal values, 1e-4 over as many rows of 512. The budget leaves a factor of three; a wider
one would let outputs rounded to float16 come close to passing. Integers are exact.
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
        gpu_timing_shape={"rows": 16384, "cols": 256},
        distributions=("normal", "uniform", "integers"),
        tolerance=Tolerance(relative=5e-5, absolute=3e-4),
        operations="2*rows*cols",
        baseline=kernel_source(__package__, "matvec"),
        oracle=oracle,
    )
