"""y = x for positive x, slope * x otherwise.

Error: one rounding, and the slope's own, 2**-25 of 0.1: together 9e-8 of the result; the budget leaves a
factor of ten.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import VECTOR_HIDDEN, VECTOR_VISIBLE, kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance

SLOPE = 0.1


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    x = inputs["x"]
    return {"y": xp.where(x > 0, x, SLOPE * x)}


def task() -> Task:
    return make_task(
        name="leaky_relu",
        title="Leaky ReLU",
        tier=0,
        family="activation",
        description=(f"Apply leaky ReLU to n elements: y[i] = x[i] if x[i] > 0, else {SLOPE} * x[i]."),
        dimensions=("n",),
        inputs={"x": ("n",)},
        outputs={"y": ("n",)},
        scalars={"slope": SLOPE},
        visible_shapes=VECTOR_VISIBLE,
        hidden_shapes=VECTOR_HIDDEN,
        timing_shape={"n": 2**20},
        gpu_timing_shape={"n": 2**22},
        tolerance=Tolerance(relative=1e-6, absolute=1e-8),
        operations="n",
        baseline=kernel_source(__package__, "leaky_relu"),
        oracle=oracle,
    )
