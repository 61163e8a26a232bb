"""c = gelu(a @ b + bias), GELU in its tanh form.

Error: k products of standard normal values: about sqrt(k) * 2**-24 times the partial sums, 5e-5 for
k = 256, the longest that is timed; GELU's slope is at most 1.13 and its own rounding below 1e-6.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance

SQRT_2_OVER_PI = math.sqrt(2.0 / math.pi)
CUBIC = 0.044715


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    x = xp.matmul(inputs["a"], inputs["b"]) + inputs["bias"]
    inner = SQRT_2_OVER_PI * (x + CUBIC * x * x * x)
    return {"c": 0.5 * x * (1.0 + xp.tanh(inner))}


def task() -> Task:
    return make_task(
        name="matmul_bias_gelu",
        title="Matrix product, bias and GELU",
        tier=3,
        family="fused_product",
        description=(
            "Multiply row-major matrices a (m x k) and b (k x n), add a bias to each column, then GELU in "
            "its tanh form. With z = bias[j] + sum over p of a[i * k + p] * b[p * n + j]: c[i * n + j] = "
            "0.5 * z * (1 + tanh(s * (z + 0.044715 * z^3))), s = sqrt(2 / pi) = 0.7978845608."
        ),
        dimensions=("m", "n", "k"),
        inputs={"a": ("m", "k"), "b": ("k", "n"), "bias": ("n",)},
        outputs={"c": ("m", "n")},
        scalars={"sqrt_2_over_pi": SQRT_2_OVER_PI, "cubic": CUBIC},
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
        tolerance=Tolerance(relative=1e-4, absolute=2e-4),
        operations="2*m*n*k + 11*m*n",
        baseline=kernel_source(__package__, "matmul_bias_gelu"),
        oracle=oracle,
    )
