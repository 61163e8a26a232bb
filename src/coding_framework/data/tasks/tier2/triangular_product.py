"""c = tril(a) @ b: what lies above the diagonal of a holds numbers, and they must not be used.

Error: at most n products of standard normal values; 9e-5 at worst over a million elements for n = 512,
the longest that is timed; the budget leaves a factor of three near zero. The operations counted are
those of the triangle.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    return {"c": xp.matmul(xp.tril(inputs["a"]), inputs["b"])}


def task() -> Task:
    return make_task(
        name="triangular_product",
        title="Product with a triangular matrix",
        tier=2,
        family="matrix_product",
        description=(
            "Multiply the lower triangle of a square row-major matrix a (n x n, diagonal included) with a "
            "matrix b (n x cols): c[i * cols + j] = sum over p from 0 to i (inclusive) of "
            "a[i * n + p] * b[p * cols + j]. Elements of a above the diagonal hold numbers that must not "
            "be used."
        ),
        dimensions=("n", "cols"),
        inputs={"a": ("n", "n"), "b": ("n", "cols")},
        outputs={"c": ("n", "cols")},
        visible_shapes=({"n": 64, "cols": 64}, {"n": 40, "cols": 56}),
        hidden_shapes=(
            {"n": 1, "cols": 1},
            {"n": 33, "cols": 17},
            {"n": 67, "cols": 35},
            {"n": 18, "cols": 101},
            {"n": 90, "cols": 1},
        ),
        timing_shape={"n": 128, "cols": 256},
        gpu_timing_shape={"n": 512, "cols": 2048},
        distributions=("normal", "uniform", "integers"),
        tolerance=Tolerance(relative=1e-4, absolute=3e-4),
        operations="n*(n+1)*cols",
        baseline=kernel_source(__package__, "triangular_product"),
        oracle=oracle,
    )
