"""c = a @ b.T: both factors are read along their rows.

Error: that of `matmul`: k products of standard normal values, 5e-5 at worst for k = 256, the longest
that is timed; the budget leaves a factor of four. Integers are exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import kernel_source, make_task
from coding_framework.data.tasks.tier2.product_shapes import GPU_TIMING, HIDDEN, TIMING, VISIBLE
from coding_framework.records import Dimensions, Task, Tolerance


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    return {"c": xp.matmul(inputs["a"], xp.permute_dims(inputs["b"], (1, 0)))}


def task() -> Task:
    return make_task(
        name="matmul_transposed",
        title="Matrix multiplication with a transposed factor",
        tier=2,
        family="matrix_product",
        description=(
            "Multiply a row-major matrix with the transpose of another: c (m x n) = a (m x k) times the "
            "transpose of b, which is stored as n x k: "
            "c[i * n + j] = sum over p of a[i * k + p] * b[j * k + p]."
        ),
        dimensions=("m", "n", "k"),
        inputs={"a": ("m", "k"), "b": ("n", "k")},
        outputs={"c": ("m", "n")},
        visible_shapes=VISIBLE,
        hidden_shapes=HIDDEN,
        timing_shape=TIMING,
        gpu_timing_shape=GPU_TIMING,
        distributions=("normal", "uniform", "integers"),
        tolerance=Tolerance(relative=1e-4, absolute=2e-4),
        operations="2*m*n*k",
        baseline=kernel_source(__package__, "matmul_transposed"),
        oracle=oracle,
    )
