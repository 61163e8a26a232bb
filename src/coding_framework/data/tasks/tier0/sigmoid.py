"""y = 1 / (1 + exp(-x)).

Error: as for SiLU: relative errors of exp(-x) are at most (2 + 1.2 * |x|) * 2**-24 and reach the result
in full for negative x only, where it is exp(x) and soon below the absolute budget: 2e-6 at x = -14.
Budget: a factor of five.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import VECTOR_HIDDEN, VECTOR_VISIBLE, kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    return {"y": 1.0 / (1.0 + xp.exp(-inputs["x"]))}


def task() -> Task:
    return make_task(
        name="sigmoid",
        title="Sigmoid",
        tier=0,
        family="activation",
        description=("Apply the logistic sigmoid to n elements: y[i] = 1 / (1 + exp(-x[i]))."),
        dimensions=("n",),
        inputs={"x": ("n",)},
        outputs={"y": ("n",)},
        visible_shapes=VECTOR_VISIBLE,
        hidden_shapes=VECTOR_HIDDEN,
        timing_shape={"n": 2**20},
        gpu_timing_shape={"n": 2**22},
        tolerance=Tolerance(relative=1e-5, absolute=1e-6),
        operations="4*n",
        baseline=kernel_source(__package__, "sigmoid"),
        oracle=oracle,
    )
