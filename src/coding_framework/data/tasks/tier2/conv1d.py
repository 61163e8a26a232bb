"""y[i] = sum over t of weight[t] * x[i + t]: a filter slides over a signal.

Error: 32 products of standard normal values err by 8e-6 at worst over four million elements (0.13 of
the budget there), the longest filter that is checked, 65 taps, by half as much again. Integers are
exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    x, weight, n = inputs["x"], inputs["weight"], dimensions["n"]
    return {"y": sum(weight[t] * x[t : t + n] for t in range(dimensions["taps"]))}


def task() -> Task:
    return make_task(
        name="conv1d",
        title="1D convolution",
        tier=2,
        family="convolution",
        description=(
            "Slide a filter over a signal (the cross-correlation that neural networks call convolution): "
            "y[i] = sum over t from 0 to taps - 1 of weight[t] * x[i + t], for i from 0 to n - 1. "
            "x has n + taps - 1 elements, weight has taps, y has n."
        ),
        dimensions=("n", "taps"),
        inputs={"x": ("(n + taps - 1)",), "weight": ("taps",)},
        outputs={"y": ("n",)},
        visible_shapes=({"n": 1024, "taps": 16}, {"n": 1000, "taps": 7}),
        hidden_shapes=(
            {"n": 1, "taps": 1},
            {"n": 33, "taps": 65},
            {"n": 1, "taps": 34},
            {"n": 1283, "taps": 9},
            {"n": 257, "taps": 2},
        ),
        timing_shape={"n": 262144, "taps": 32},
        gpu_timing_shape={"n": 4194304, "taps": 32},
        distributions=("normal", "uniform", "integers"),
        tolerance=Tolerance(relative=1e-5, absolute=2e-5),
        operations="2*n*taps",
        baseline=kernel_source(__package__, "conv1d"),
        oracle=oracle,
    )
