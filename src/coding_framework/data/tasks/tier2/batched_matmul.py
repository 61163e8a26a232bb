"""c[b] = a[b] @ b[b] for every matrix of a batch.

Error: that of `matmul`: k products of standard normal values, 3e-5 at worst over a million elements
for k = 128, the longest that is timed; the budget leaves a factor of six. Integers are exact.
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
        name="batched_matmul",
        title="Batched matrix multiplication",
        tier=2,
        family="matrix_product",
        description=(
            "Multiply matrices pair by pair: a holds batch row-major matrices of m x k one after the other, "
            "b as many of k x n, c as many of m x n: c[(s * m + i) * n + j] = "
            "sum over p of a[(s * m + i) * k + p] * b[(s * k + p) * n + j] for every s below batch."
        ),
        dimensions=("batch", "m", "n", "k"),
        inputs={"a": ("batch", "m", "k"), "b": ("batch", "k", "n")},
        outputs={"c": ("batch", "m", "n")},
        visible_shapes=({"batch": 4, "m": 32, "n": 32, "k": 32}, {"batch": 3, "m": 20, "n": 24, "k": 28}),
        hidden_shapes=(
            {"batch": 1, "m": 1, "n": 1, "k": 1},
            {"batch": 7, "m": 17, "n": 33, "k": 9},
            {"batch": 2, "m": 1, "n": 67, "k": 35},
            {"batch": 5, "m": 18, "n": 1, "k": 21},
        ),
        timing_shape={"batch": 32, "m": 64, "n": 64, "k": 64},
        gpu_timing_shape={"batch": 16, "m": 256, "n": 256, "k": 128},
        distributions=("normal", "uniform", "integers"),
        tolerance=Tolerance(relative=1e-4, absolute=2e-4),
        operations="2*batch*m*n*k",
        baseline=kernel_source(__package__, "batched_matmul"),
        oracle=oracle,
    )
