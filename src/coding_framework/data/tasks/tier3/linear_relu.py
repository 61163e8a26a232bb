"""y = max(x @ w.T + bias, 0): a linear layer whose weights lie as out x in.

Error: k products of standard normal values: about sqrt(k) * 2**-24 times the partial sums, 5e-5 for
k = 256, the longest that is timed. Integers are exact.
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
        name="linear_relu",
        title="Linear layer and ReLU",
        tier=3,
        family="fused_product",
        description=(
            "Linear layer with ReLU: x is row-major m x k, the weights w are row-major n x k (one row for "
            "each output feature), y is row-major m x n: y[i * n + j] = max(bias[j] + sum over p of x[i * k "
            "+ p] * w[j * k + p], 0)."
        ),
        dimensions=("m", "n", "k"),
        inputs={"x": ("m", "k"), "w": ("n", "k"), "bias": ("n",)},
        outputs={"y": ("m", "n")},
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
        operations="2*m*n*k + 2*m*n",
        baseline=kernel_source(__package__, "linear_relu"),
        oracle=oracle,
    )
