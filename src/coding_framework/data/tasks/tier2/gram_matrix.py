"""c = x.T @ x, symmetric: half of it can be copied.

Error: sums of products as in `matmul`, 5e-5 at worst for 256 rows, the most that are timed; the
diagonal is a sum of squares near 256 and errs by 2e-4, six in ten million of itself. The budget leaves
a factor of ten on the diagonal and of four beside it. The operations counted are one triangle's.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    return {"c": xp.matmul(xp.permute_dims(inputs["x"], (1, 0)), inputs["x"])}


def task() -> Task:
    return make_task(
        name="gram_matrix",
        title="Gram matrix",
        tier=2,
        family="matrix_product",
        description=(
            "Products of all pairs of columns of a row-major matrix x with rows x cols elements: "
            "c (cols x cols) = transpose of x times x: "
            "c[i * cols + j] = sum over r of x[r * cols + i] * x[r * cols + j]. "
            "c is symmetric, and all of it must be written."
        ),
        dimensions=("rows", "cols"),
        inputs={"x": ("rows", "cols")},
        outputs={"c": ("cols", "cols")},
        visible_shapes=({"rows": 64, "cols": 64}, {"rows": 50, "cols": 40}),
        hidden_shapes=(
            {"rows": 1, "cols": 1},
            {"rows": 67, "cols": 33},
            {"rows": 1, "cols": 19},
            {"rows": 35, "cols": 71},
            {"rows": 130, "cols": 3},
        ),
        timing_shape={"rows": 64, "cols": 256},
        gpu_timing_shape={"rows": 256, "cols": 1024},
        distributions=("normal", "uniform", "integers"),
        tolerance=Tolerance(relative=1e-4, absolute=2e-4),
        operations="rows*cols*(cols+1)",
        baseline=kernel_source(__package__, "gram_matrix"),
        oracle=oracle,
    )
