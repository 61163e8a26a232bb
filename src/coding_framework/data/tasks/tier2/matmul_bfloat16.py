"""c = a @ b with bfloat16 factors and a float32 result.

Error: products of two 8-bit significands are exact in float32, so only the sum errs: 3e-5 at worst over
a million elements for k = 256, the longest that is timed. The budget is that of `matmul`; rounding the
result to bfloat16 (2**-9 of it) does not fit.
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
        name="matmul_bfloat16",
        title="Matrix multiplication of bfloat16 into float32",
        tier=2,
        family="matrix_product",
        description=(
            "Multiply row-major matrices of bfloat16 into one of float32: c (m x n) = a (m x k) times "
            "b (k x n): c[i * n + j] = sum over p of a[i * k + p] * b[p * n + j], added up in float32."
        ),
        dimensions=("m", "n", "k"),
        inputs={"a": ("m", "k"), "b": ("k", "n")},
        outputs={"c": ("m", "n")},
        dtypes={"a": "bfloat16", "b": "bfloat16"},
        visible_shapes=VISIBLE,
        hidden_shapes=HIDDEN,
        timing_shape=TIMING,
        gpu_timing_shape=GPU_TIMING,
        distributions=("normal", "uniform", "integers"),
        tolerance=Tolerance(relative=1e-4, absolute=2e-4),
        operations="2*m*n*k",
        baseline=kernel_source(__package__, "matmul_bfloat16"),
        oracle=oracle,
    )
