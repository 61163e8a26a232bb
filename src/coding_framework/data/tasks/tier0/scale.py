"""y = alpha * x with a fixed alpha.

Error: one rounding, at most 2**-24 of the result; alpha = 2.5 is exact in float32.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import VECTOR_HIDDEN, VECTOR_VISIBLE, kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance

ALPHA = 2.5


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    return {"y": ALPHA * inputs["x"]}


def task() -> Task:
    return make_task(
        name="scale",
        title="Scale",
        tier=0,
        family="scaling",
        description=f"Scale a vector of n elements: y[i] = {ALPHA} * x[i].",
        dimensions=("n",),
        inputs={"x": ("n",)},
        outputs={"y": ("n",)},
        scalars={"alpha": ALPHA},
        visible_shapes=VECTOR_VISIBLE,
        hidden_shapes=VECTOR_HIDDEN,
        timing_shape={"n": 2**20},
        gpu_timing_shape={"n": 2**22},
        tolerance=Tolerance(relative=1e-6, absolute=1e-7),
        operations="n",
        baseline=kernel_source(__package__, "scale"),
        oracle=oracle,
    )
