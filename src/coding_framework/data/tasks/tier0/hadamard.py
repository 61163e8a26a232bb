"""y = a * b, element by element.

Error: one rounding, at most 2**-24 of the result, whatever the scale of the inputs; the budget of 1e-6
leaves a factor of 16.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import VECTOR_HIDDEN, VECTOR_VISIBLE, kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    return {"y": inputs["a"] * inputs["b"]}


def task() -> Task:
    return make_task(
        name="hadamard",
        title="Element-wise product",
        tier=0,
        family="product",
        description=("Multiply two vectors of n elements element by element: y[i] = a[i] * b[i]."),
        dimensions=("n",),
        inputs={"a": ("n",), "b": ("n",)},
        outputs={"y": ("n",)},
        visible_shapes=VECTOR_VISIBLE,
        hidden_shapes=VECTOR_HIDDEN,
        timing_shape={"n": 2**20},
        gpu_timing_shape={"n": 2**22},
        distributions=("normal", "uniform", "large", "outliers"),
        tolerance=Tolerance(relative=1e-6, absolute=1e-9),
        operations="n",
        baseline=kernel_source(__package__, "hadamard"),
        oracle=oracle,
    )
