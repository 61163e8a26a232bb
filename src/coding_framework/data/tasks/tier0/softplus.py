"""Softplus: y = log(1 + exp(x)), in the form max(x, 0) + log(1 + exp(-|x|)) that cannot overflow.

Error: both terms are positive, so the sum is right to 2**-24 of itself. `log1pf` of an exponential is
right to a few units; `__logf` of 1 + u is off by 2**-21.4 = 3.6e-7 in absolute terms and loses what 1 + u
rounds away. The absolute budget leaves a factor of four over that.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import VECTOR_HIDDEN, VECTOR_VISIBLE, kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    x = inputs["x"]
    positive = xp.where(x > 0, x, xp.zeros_like(x))
    return {"y": positive + xp.log1p(xp.exp(-xp.abs(x)))}


def task() -> Task:
    return make_task(
        name="softplus",
        title="Softplus",
        tier=0,
        family="activation",
        description=(
            "Apply softplus to n elements: y[i] = log(1 + exp(x[i])). Inputs of several hundred occur: "
            "max(x, 0) + log(1 + exp(-|x|)) is equal and does not overflow."
        ),
        dimensions=("n",),
        inputs={"x": ("n",)},
        outputs={"y": ("n",)},
        visible_shapes=VECTOR_VISIBLE,
        hidden_shapes=VECTOR_HIDDEN,
        timing_shape={"n": 2**20},
        gpu_timing_shape={"n": 2**22},
        tolerance=Tolerance(relative=1e-6, absolute=2e-6),
        operations="6*n",
        baseline=kernel_source(__package__, "softplus"),
        oracle=oracle,
    )
