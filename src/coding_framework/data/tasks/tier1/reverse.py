"""y = x from back to front.

Error: none, the values are only moved; the budget is one rounding.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import VECTOR_HIDDEN, VECTOR_VISIBLE, kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    return {"y": xp.flip(inputs["x"], axis=0)}


def task() -> Task:
    return make_task(
        name="reverse",
        title="Reverse",
        tier=1,
        family="rearrangement",
        description=("Reverse a vector of n elements: y[i] = x[n - 1 - i]."),
        dimensions=("n",),
        inputs={"x": ("n",)},
        outputs={"y": ("n",)},
        visible_shapes=VECTOR_VISIBLE,
        hidden_shapes=VECTOR_HIDDEN,
        timing_shape={"n": 2**20},
        gpu_timing_shape={"n": 2**22},
        distributions=("normal", "integers", "large"),
        tolerance=Tolerance(relative=1e-7, absolute=1e-9),
        operations="n",
        baseline=kernel_source(__package__, "reverse"),
        oracle=oracle,
    )
