"""c = a @ b.

Error: k products of standard normal values: about sqrt(k) * 2**-24 times the partial sums. Over a
million elements the worst is 3e-5 for k = 128 and 5e-5 for k = 256, the longest that is timed. Three TF32
products of high and low parts reach 2e-4, because tensor cores cut off what they add; the budget is twice
that. Integers are exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    return {"c": xp.matmul(inputs["a"], inputs["b"])}


def task() -> Task:
    return make_task(
        name="matmul",
        title="Matrix multiplication",
        tier=2,
        family="matrix_product",
        description=(
            "Multiply row-major matrices: c (m x n) = a (m x k) times b (k x n): "
            "c[i * n + j] = sum over p of a[i * k + p] * b[p * n + j]."
        ),
        dimensions=("m", "n", "k"),
        inputs={"a": ("m", "k"), "b": ("k", "n")},
        outputs={"c": ("m", "n")},
        visible_shapes=({"m": 64, "n": 64, "k": 64}, {"m": 40, "n": 56, "k": 24}),
        hidden_shapes=(
            {"m": 1, "n": 1, "k": 1},
            {"m": 17, "n": 33, "k": 65},
            {"m": 65, "n": 1, "k": 7},
            {"m": 1, "n": 70, "k": 33},
            {"m": 31, "n": 67, "k": 15},
        ),
        timing_shape={"m": 256, "n": 256, "k": 128},
        gpu_timing_shape={"m": 1024, "n": 1024, "k": 256},
        distributions=("normal", "uniform", "integers"),
        tolerance=Tolerance(relative=1e-4, absolute=4e-4),
        operations="2*m*n*k",
        baseline=kernel_source(__package__, "matmul"),
        oracle=oracle,
    )
