"""y = x limited to a fixed interval.

Error: none; a value is kept or replaced by a limit that float32 holds exactly. The budget is one
rounding. The limits lie within the bulk of standard normal values, so that leaving one out is noticed.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import VECTOR_HIDDEN, VECTOR_VISIBLE, kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance

LOW, HIGH = -0.75, 1.25


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    return {"y": xp.clip(inputs["x"], LOW, HIGH)}


def task() -> Task:
    return make_task(
        name="clamp",
        title="Clamp",
        tier=0,
        family="clipping",
        description=(
            f"Limit n elements to the interval from {LOW} to {HIGH}: y[i] = min(max(x[i], low), high) with "
            f"low = {LOW} and high = {HIGH}."
        ),
        dimensions=("n",),
        inputs={"x": ("n",)},
        outputs={"y": ("n",)},
        scalars={"low": LOW, "high": HIGH},
        visible_shapes=VECTOR_VISIBLE,
        hidden_shapes=VECTOR_HIDDEN,
        timing_shape={"n": 2**20},
        gpu_timing_shape={"n": 2**22},
        tolerance=Tolerance(relative=1e-7, absolute=1e-9),
        operations="2*n",
        baseline=kernel_source(__package__, "clamp"),
        oracle=oracle,
    )
