"""y = slope * x + offset with fixed numbers.

Error: the product is rounded to 2**-24 of itself, the sum once more. Near the root the sum cancels, but
there the product is as small as the offset: 0.5 * 2**-23 = 6e-8. The budget leaves a factor of five and
more.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import VECTOR_HIDDEN, VECTOR_VISIBLE, kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance

SLOPE = 1.25
OFFSET = -0.5


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    return {"y": SLOPE * inputs["x"] + OFFSET}


def task() -> Task:
    return make_task(
        name="affine",
        title="Affine map",
        tier=0,
        family="scaling",
        description=(f"Apply an affine map to n elements: y[i] = {SLOPE} * x[i] - {-OFFSET}."),
        dimensions=("n",),
        inputs={"x": ("n",)},
        outputs={"y": ("n",)},
        scalars={"slope": SLOPE, "minus_offset": -OFFSET},
        visible_shapes=VECTOR_VISIBLE,
        hidden_shapes=VECTOR_HIDDEN,
        timing_shape={"n": 2**20},
        gpu_timing_shape={"n": 2**22},
        distributions=("normal", "uniform", "large", "small"),
        tolerance=Tolerance(relative=1e-6, absolute=3e-7),
        operations="2*n",
        baseline=kernel_source(__package__, "affine"),
        oracle=oracle,
    )
