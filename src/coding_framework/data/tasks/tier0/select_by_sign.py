"""y = a where the condition is positive, b elsewhere.

Error: none, a value is copied; the budget is one rounding. Whole numbers are drawn as well, so that a
condition of exactly 0 occurs.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import VECTOR_HIDDEN, VECTOR_VISIBLE, kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    return {"y": xp.where(inputs["condition"] > 0, inputs["a"], inputs["b"])}


def task() -> Task:
    return make_task(
        name="select_by_sign",
        title="Select by condition",
        tier=0,
        family="blend",
        description=(
            "Choose between two vectors of n elements by the sign of a third: y[i] = a[i] if condition[i] "
            "> 0, else b[i] (also where condition[i] is 0)."
        ),
        dimensions=("n",),
        inputs={"condition": ("n",), "a": ("n",), "b": ("n",)},
        outputs={"y": ("n",)},
        visible_shapes=VECTOR_VISIBLE,
        hidden_shapes=VECTOR_HIDDEN,
        timing_shape={"n": 2**20},
        gpu_timing_shape={"n": 2**22},
        distributions=("normal", "integers", "large", "outliers"),
        tolerance=Tolerance(relative=1e-7, absolute=1e-9),
        operations="n",
        baseline=kernel_source(__package__, "select_by_sign"),
        oracle=oracle,
    )
