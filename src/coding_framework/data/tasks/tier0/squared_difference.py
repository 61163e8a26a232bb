"""y = (a - b) squared.

Error: the difference is rounded once (2**-24 of itself; exact where it cancels most), squaring doubles
that and rounds once more: 3 * 2**-24 = 1.8e-7 of the result at any scale. The budget leaves a factor of
five. A kernel that expands the square into a*a - 2*a*b + b*b cancels and fails on `large`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import VECTOR_HIDDEN, VECTOR_VISIBLE, kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    difference = inputs["a"] - inputs["b"]
    return {"y": difference * difference}


def task() -> Task:
    return make_task(
        name="squared_difference",
        title="Squared difference",
        tier=0,
        family="difference",
        description=("Square the difference of two vectors of n elements: y[i] = (a[i] - b[i])^2."),
        dimensions=("n",),
        inputs={"a": ("n",), "b": ("n",)},
        outputs={"y": ("n",)},
        visible_shapes=VECTOR_VISIBLE,
        hidden_shapes=VECTOR_HIDDEN,
        timing_shape={"n": 2**20},
        gpu_timing_shape={"n": 2**22},
        distributions=("normal", "uniform", "large", "outliers"),
        tolerance=Tolerance(relative=1e-6, absolute=1e-9),
        operations="2*n",
        baseline=kernel_source(__package__, "squared_difference"),
        oracle=oracle,
    )
