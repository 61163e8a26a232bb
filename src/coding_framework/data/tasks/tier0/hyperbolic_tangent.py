"""y = tanh(x).

Error: `tanhf` is right to about 2 units of 2**-24. Written with one fast exponential, 1 - 2 / (1 +
exp(2x)), it cancels near 0, where 2**-24 of 1 and a few units of the exponential are left: 3e-7 at the
most. The budget leaves a factor of three, and is far below the 5e-4 of the hardware's own `tanh.approx`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import VECTOR_HIDDEN, VECTOR_VISIBLE, kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    return {"y": xp.tanh(inputs["x"])}


def task() -> Task:
    return make_task(
        name="hyperbolic_tangent",
        title="Hyperbolic tangent",
        tier=0,
        family="activation",
        description=("Apply the hyperbolic tangent to n elements: y[i] = tanh(x[i])."),
        dimensions=("n",),
        inputs={"x": ("n",)},
        outputs={"y": ("n",)},
        visible_shapes=VECTOR_VISIBLE,
        hidden_shapes=VECTOR_HIDDEN,
        timing_shape={"n": 2**20},
        gpu_timing_shape={"n": 2**22},
        tolerance=Tolerance(relative=1e-6, absolute=1e-6),
        operations="6*n",
        baseline=kernel_source(__package__, "hyperbolic_tangent"),
        oracle=oracle,
    )
