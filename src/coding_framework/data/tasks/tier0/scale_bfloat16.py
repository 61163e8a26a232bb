"""y = alpha * x in bfloat16, with a fixed alpha.

Error: alpha = 1.5 has two bits and x eight, so the product is exact in float32 and rounded once to
bfloat16: 2**-8 = 3.9e-3 of the result at the most. The budget is that of one rounding to bfloat16, twice
as much.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import VECTOR_HIDDEN, VECTOR_VISIBLE, kernel_source, make_task
from coding_framework.records import Dimensions, Task

ALPHA = 1.5


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    return {"y": ALPHA * inputs["x"]}


def task() -> Task:
    return make_task(
        name="scale_bfloat16",
        title="bfloat16 scale",
        tier=0,
        family="scaling",
        description=(f"Scale a vector of n bfloat16 elements: y[i] = {ALPHA} * x[i], rounded to bfloat16."),
        dimensions=("n",),
        inputs={"x": ("n",)},
        outputs={"y": ("n",)},
        scalars={"alpha": ALPHA},
        visible_shapes=VECTOR_VISIBLE,
        hidden_shapes=VECTOR_HIDDEN,
        timing_shape={"n": 2**20},
        gpu_timing_shape={"n": 2**23},
        dtypes={"x": "bfloat16", "y": "bfloat16"},
        operations="n",
        baseline=kernel_source(__package__, "scale_bfloat16"),
        oracle=oracle,
    )
