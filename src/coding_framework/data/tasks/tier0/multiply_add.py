"""y = a * b + c.

Error: without a fused multiply-add the product is rounded first, by 2**-24 of itself. A product of two
standard normal values stays below 25 in every draw, so cancelling against c leaves 1.5e-6; the budget is
three times that.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import VECTOR_HIDDEN, VECTOR_VISIBLE, kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    return {"y": inputs["a"] * inputs["b"] + inputs["c"]}


def task() -> Task:
    return make_task(
        name="multiply_add",
        title="Multiply and add",
        tier=0,
        family="multiply_add",
        description=("Multiply two vectors of n elements and add a third: y[i] = a[i] * b[i] + c[i]."),
        dimensions=("n",),
        inputs={"a": ("n",), "b": ("n",), "c": ("n",)},
        outputs={"y": ("n",)},
        visible_shapes=VECTOR_VISIBLE,
        hidden_shapes=VECTOR_HIDDEN,
        timing_shape={"n": 2**20},
        gpu_timing_shape={"n": 2**22},
        distributions=("normal", "uniform", "integers"),
        tolerance=Tolerance(relative=1e-6, absolute=5e-6),
        operations="2*n",
        baseline=kernel_source(__package__, "multiply_add"),
        oracle=oracle,
    )
