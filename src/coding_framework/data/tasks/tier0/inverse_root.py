"""y = 1 / sqrt(x * x + 0.25), which is defined everywhere.

Error: the sum has no cancellation, so its two roundings are relative and halved by the root; root and
quotient, or one `rsqrtf` (2 units), add 2**-23 at the most: 2.5e-7 in all. The budget leaves a factor of
four, the absolute part next to nothing, because results shrink with 1 / |x|.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import VECTOR_HIDDEN, VECTOR_VISIBLE, kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance

OFFSET = 0.25


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    x = inputs["x"]
    return {"y": 1.0 / xp.sqrt(x * x + OFFSET)}


def task() -> Task:
    return make_task(
        name="inverse_root",
        title="Inverse square root",
        tier=0,
        family="inverse_root",
        description=(
            f"Compute an inverse square root of n elements: y[i] = 1 / sqrt(x[i] * x[i] + {OFFSET})."
        ),
        dimensions=("n",),
        inputs={"x": ("n",)},
        outputs={"y": ("n",)},
        scalars={"offset": OFFSET},
        visible_shapes=VECTOR_VISIBLE,
        hidden_shapes=VECTOR_HIDDEN,
        timing_shape={"n": 2**20},
        gpu_timing_shape={"n": 2**22},
        tolerance=Tolerance(relative=1e-6, absolute=1e-9),
        operations="4*n",
        baseline=kernel_source(__package__, "inverse_root"),
        oracle=oracle,
    )
