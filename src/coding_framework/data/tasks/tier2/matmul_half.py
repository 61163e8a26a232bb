"""c = a @ b in float16 with float32 sums.

Error: products of two halves are exact in float32, so the sum errs as that of `matmul` (5e-5 for
k = 256) and is then rounded once to 11 bits (relative 2**-11, 4.9e-4). The budget is twice that.
A sum kept in float16 errs by 2**-11 of every partial sum and does not fit.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import kernel_source, make_task
from coding_framework.data.tasks.tier2.product_shapes import GPU_TIMING, HIDDEN, TIMING, VISIBLE
from coding_framework.records import Dimensions, Task, Tolerance


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    return {"c": xp.matmul(inputs["a"], inputs["b"])}


def task() -> Task:
    return make_task(
        name="matmul_half",
        title="Matrix multiplication in float16",
        tier=2,
        family="matrix_product",
        description=(
            "Multiply row-major matrices of float16: c (m x n) = a (m x k) times b (k x n): "
            "c[i * n + j] = sum over p of a[i * k + p] * b[p * n + j]. "
            "Add up in float32 and round each sum to float16 once, when it is stored."
        ),
        dimensions=("m", "n", "k"),
        inputs={"a": ("m", "k"), "b": ("k", "n")},
        outputs={"c": ("m", "n")},
        dtypes={"a": "float16", "b": "float16", "c": "float16"},
        visible_shapes=VISIBLE,
        hidden_shapes=HIDDEN,
        timing_shape=TIMING,
        gpu_timing_shape=GPU_TIMING,
        distributions=("normal", "uniform", "integers"),
        tolerance=Tolerance(relative=1e-3, absolute=2e-4),
        operations="2*m*n*k",
        baseline=kernel_source(__package__, "matmul_half"),
        oracle=oracle,
    )
