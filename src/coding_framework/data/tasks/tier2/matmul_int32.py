"""c = a @ b in whole numbers.

Exact: the largest inputs are near 500, so sums of 256 products stay below 2**27 and a single wrong
term shows. The widest distribution does not fit eight bits.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import kernel_source, make_task
from coding_framework.data.tasks.tier2.product_shapes import GPU_TIMING, HIDDEN, TIMING, VISIBLE
from coding_framework.records import Dimensions, Task


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    return {"c": xp.matmul(inputs["a"], inputs["b"])}


def task() -> Task:
    return make_task(
        name="matmul_int32",
        title="Matrix multiplication of integers",
        tier=2,
        family="matrix_product",
        description=(
            "Multiply row-major matrices of 32-bit integers: c (m x n) = a (m x k) times b (k x n): "
            "c[i * n + j] = sum over p of a[i * k + p] * b[p * n + j]. The result must be exact; "
            "no sum leaves the range of int."
        ),
        dimensions=("m", "n", "k"),
        inputs={"a": ("m", "k"), "b": ("k", "n")},
        outputs={"c": ("m", "n")},
        dtypes={"a": "int32", "b": "int32", "c": "int32"},
        visible_shapes=VISIBLE,
        hidden_shapes=HIDDEN,
        timing_shape=TIMING,
        gpu_timing_shape=GPU_TIMING,
        distributions=("large", "integers", "outliers"),
        operations="2*m*n*k",
        baseline=kernel_source(__package__, "matmul_int32"),
        oracle=oracle,
    )
