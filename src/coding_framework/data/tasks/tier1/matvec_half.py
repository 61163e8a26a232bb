"""y = a @ x with a and x in float16, sums and y in float32.

Error: the product of two float16 numbers is exact in float32, so the sum alone rounds: as for a row sum,
4e-5 at worst over 65,536 rows of 256 and 1e-4 over as many of 512 standard normal products. The budget
leaves a factor of three; sums held in float16 are off by a hundred times as much. Integers are exact.
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
        name="matvec_half",
        title="Half-precision matrix-vector product",
        tier=1,
        family="matrix_product",
        description=(
            "Multiply a row-major float16 matrix a with rows x cols elements by a float16 vector x of "
            "cols elements, adding up in float32: y[r] = sum over c of a[r * cols + c] * x[c], y in "
            "float32."
        ),
        dimensions=("rows", "cols"),
        inputs={"a": ("rows", "cols"), "x": ("cols",)},
        outputs={"y": ("rows",)},
        visible_shapes=ROWS_VISIBLE,
        hidden_shapes=ROWS_HIDDEN,
        timing_shape={"rows": 2048, "cols": 256},
        gpu_timing_shape={"rows": 32768, "cols": 256},
        dtypes={"a": "float16", "x": "float16"},
        distributions=("normal", "uniform", "integers"),
        tolerance=Tolerance(relative=5e-5, absolute=3e-4),
        operations="2*rows*cols",
        baseline=kernel_source(__package__, "matvec_half"),
        oracle=oracle,
    )
