"""The largest value under a window that moves by one.

Exact: a maximum is one of its inputs; the budget (some units in the last place) is that of any
float32 result and hides no narrower type.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import kernel_source, make_task
from coding_framework.records import Dimensions, Task


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    x, n = inputs["x"], dimensions["n"]
    largest = x[:, :n]
    for t in range(1, dimensions["window"]):
        largest = xp.maximum(largest, x[:, t : t + n])
    return {"y": largest}


def task() -> Task:
    return make_task(
        name="max_pool_1d",
        title="1D max pooling",
        tier=2,
        family="pooling",
        description=(
            "Largest value under a sliding window, row by row: x has rows rows of n + window - 1 elements, "
            "y has rows rows of n: y[r * n + i] = the largest of x[r * (n + window - 1) + i + t] over t "
            "from 0 to window - 1."
        ),
        dimensions=("rows", "n", "window"),
        inputs={"x": ("rows", "(n + window - 1)")},
        outputs={"y": ("rows", "n")},
        visible_shapes=({"rows": 16, "n": 256, "window": 8}, {"rows": 10, "n": 100, "window": 5}),
        hidden_shapes=(
            {"rows": 1, "n": 1, "window": 1},
            {"rows": 3, "n": 131, "window": 34},
            {"rows": 13, "n": 33, "window": 3},
            {"rows": 2, "n": 1, "window": 17},
            {"rows": 1, "n": 517, "window": 2},
        ),
        timing_shape={"rows": 256, "n": 1024, "window": 32},
        gpu_timing_shape={"rows": 1024, "n": 4096, "window": 32},
        distributions=("normal", "uniform", "large", "integers", "far_below"),
        operations="rows*n*window",
        baseline=kernel_source(__package__, "max_pool_1d"),
        oracle=oracle,
    )
