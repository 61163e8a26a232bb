"""Hard swish: y = x * min(max(x + 3, 0), 6) / 6.

Error: next to x = -3 the sum cancels, which leaves 3 * 2**-24 times |x| / 6: 1e-7. Elsewhere three
roundings, or four where the division by 6 is a multiplication by a rounded 1 / 6: 2.4e-7 of the result.
The budget leaves a factor of four.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import VECTOR_HIDDEN, VECTOR_VISIBLE, kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    x = inputs["x"]
    return {"y": x * xp.clip(x + 3.0, 0.0, 6.0) / 6.0}


def task() -> Task:
    return make_task(
        name="hard_swish",
        title="Hard swish",
        tier=0,
        family="activation",
        description=("Apply hard swish to n elements: y[i] = x[i] * min(max(x[i] + 3, 0), 6) / 6."),
        dimensions=("n",),
        inputs={"x": ("n",)},
        outputs={"y": ("n",)},
        visible_shapes=VECTOR_VISIBLE,
        hidden_shapes=VECTOR_HIDDEN,
        timing_shape={"n": 2**20},
        gpu_timing_shape={"n": 2**22},
        tolerance=Tolerance(relative=1e-6, absolute=5e-7),
        operations="5*n",
        baseline=kernel_source(__package__, "hard_swish"),
        oracle=oracle,
    )
