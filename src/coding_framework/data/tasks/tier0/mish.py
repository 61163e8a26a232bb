"""Mish: y = x * tanh(log(1 + exp(x))).

Error: with u = exp(x) the tangent is (u * u + 2u) / (u * u + 2u + 2), a quotient of positive terms:
relative errors are those of u, at most (2 + 1.2 * |x|) units of 2**-24 and twice that through the square.
They reach the result for negative x, where it falls as x * exp(x): 3e-6 before it is below the absolute
budget. The nested form is as good as long as log(1 + u) is `log1pf`. Budget: a factor of three.
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
    return {"y": x * xp.tanh(positive + xp.log1p(xp.exp(-xp.abs(x))))}


def task() -> Task:
    return make_task(
        name="mish",
        title="Mish",
        tier=0,
        family="activation",
        description=(
            "Apply Mish to n elements: y[i] = x[i] * tanh(log(1 + exp(x[i]))). Inputs of several hundred "
            "occur: exp must not overflow for them (there y[i] = x[i])."
        ),
        dimensions=("n",),
        inputs={"x": ("n",)},
        outputs={"y": ("n",)},
        visible_shapes=VECTOR_VISIBLE,
        hidden_shapes=VECTOR_HIDDEN,
        timing_shape={"n": 2**20},
        gpu_timing_shape={"n": 2**22},
        tolerance=Tolerance(relative=1e-5, absolute=1e-6),
        operations="8*n",
        baseline=kernel_source(__package__, "mish"),
        oracle=oracle,
    )
