"""y = max(x @ w.T + bias, 0) in float16 with float32 sums: a linear layer, weights as out x in.

Error: products of two halves are exact in float32, so the sum errs by near sqrt(k) * 2**-24 of the partial
sums (5e-5 for k = 256) and is rounded once to 11 bits (4.9e-4 of the result). The budget is twice that. A
sum that is kept in float16 errs by 2**-11 of every partial sum and does not fit.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    total = xp.matmul(inputs["x"], inputs["w"].T) + inputs["bias"]
    return {"y": xp.where(total > 0, total, xp.zeros_like(total))}


def task() -> Task:
    return make_task(
        name="linear_relu_half",
        title="Linear layer and ReLU in half precision",
        tier=3,
        family="fused_product",
        description=(
            "Linear layer with ReLU in half precision: x is row-major m x k, the weights w are row-major n "
            "x k (one row for each output feature), y is row-major m x n: y[i * n + j] = max(bias[j] + sum "
            "over p of x[i * k + p] * w[j * k + p], 0). Add up in float and round to half once, when the "
            "result is stored."
        ),
        dimensions=("m", "n", "k"),
        inputs={"x": ("m", "k"), "w": ("n", "k"), "bias": ("n",)},
        outputs={"y": ("m", "n")},
        dtypes=dict.fromkeys(("x", "w", "bias", "y"), "float16"),
        visible_shapes=({"m": 64, "n": 64, "k": 64}, {"m": 40, "n": 56, "k": 24}),
        hidden_shapes=(
            {"m": 1, "n": 1, "k": 1},
            {"m": 17, "n": 33, "k": 65},
            {"m": 65, "n": 1, "k": 7},
            {"m": 1, "n": 70, "k": 33},
            {"m": 31, "n": 67, "k": 15},
        ),
        timing_shape={"m": 512, "n": 512, "k": 64},
        gpu_timing_shape={"m": 1024, "n": 1024, "k": 256},
        distributions=("normal", "uniform", "integers"),
        tolerance=Tolerance(relative=1e-3, absolute=2e-4),
        operations="2*m*n*k + 2*m*n",
        baseline=kernel_source(__package__, "linear_relu_half"),
        oracle=oracle,
    )
