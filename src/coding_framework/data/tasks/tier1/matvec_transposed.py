"""y = transpose(a) @ x.

Error: as for the matrix-vector product with as many terms: 4e-5 at worst over 65,536 sums of 256 products
of standard normal values. The budget leaves a factor of three and more; integers are exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import ROWS_HIDDEN, ROWS_VISIBLE, kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    return {"y": xp.matmul(xp.permute_dims(inputs["a"], (1, 0)), inputs["x"])}


def task() -> Task:
    return make_task(
        name="matvec_transposed",
        title="Transposed matrix-vector product",
        tier=1,
        family="matrix_product",
        description=(
            "Multiply the transpose of a row-major matrix a with rows x cols elements by a vector x of "
            "rows elements: y[c] = sum over r of a[r * cols + c] * x[r]."
        ),
        dimensions=("rows", "cols"),
        inputs={"a": ("rows", "cols"), "x": ("rows",)},
        outputs={"y": ("cols",)},
        visible_shapes=ROWS_VISIBLE,
        hidden_shapes=ROWS_HIDDEN,
        timing_shape={"rows": 256, "cols": 2048},
        gpu_timing_shape={"rows": 256, "cols": 16384},
        distributions=("normal", "uniform", "integers"),
        tolerance=Tolerance(relative=5e-5, absolute=3e-4),
        operations="2*rows*cols",
        baseline=kernel_source(__package__, "matvec_transposed"),
        oracle=oracle,
    )
