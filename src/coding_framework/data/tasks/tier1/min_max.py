"""The smallest and the largest of n elements.

Error: none, two values are copied; the budget is one rounding. Nothing depends on the order, so atomics
on integer keys are as right as a tree.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import VECTOR_HIDDEN, VECTOR_VISIBLE, kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    x = inputs["x"]
    return {"y": xp.stack([xp.min(x), xp.max(x)])}


def task() -> Task:
    return make_task(
        name="min_max",
        title="Smallest and largest",
        tier=1,
        family="total_reduction",
        description=(
            "Find the smallest and the largest of n elements: y[0] = min over i of x[i] and y[1] = max "
            "over i of x[i]. y has two elements."
        ),
        dimensions=("n",),
        inputs={"x": ("n",)},
        outputs={"y": ("2",)},
        visible_shapes=VECTOR_VISIBLE,
        hidden_shapes=VECTOR_HIDDEN,
        timing_shape={"n": 2**18},
        gpu_timing_shape={"n": 2**22},
        distributions=("normal", "large", "outliers", "far_below", "far_above"),
        tolerance=Tolerance(relative=1e-7, absolute=1e-9),
        operations="2*n",
        baseline=kernel_source(__package__, "min_max"),
        oracle=oracle,
    )
