"""GELU in its tanh form, the one that needs no erf.

Error: for negative x the sum 1 + tanh(u) cancels, so the rounding of tanh (a few 2**-24) is
multiplied by |x| / 2: below 1e-6 until tanh saturates near |x| = 5. Elsewhere the error is
relative, a few units of 2**-24. The budget leaves room for fast exponentials.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import VECTOR_HIDDEN, VECTOR_VISIBLE, kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance

SQRT_2_OVER_PI = math.sqrt(2.0 / math.pi)
CUBIC = 0.044715


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    x = inputs["x"]
    inner = SQRT_2_OVER_PI * (x + CUBIC * x * x * x)
    return {"y": 0.5 * x * (1.0 + xp.tanh(inner))}


def task() -> Task:
    return make_task(
        name="gelu",
        title="GELU (tanh form)",
        tier=0,
        family="activation",
        description=(
            "Apply GELU in its tanh form to n elements: "
            "y[i] = 0.5 * x[i] * (1 + tanh(c * (x[i] + 0.044715 * x[i]^3))) "
            "with c = sqrt(2 / pi) = 0.7978845608."
        ),
        dimensions=("n",),
        inputs={"x": ("n",)},
        outputs={"y": ("n",)},
        scalars={"sqrt_2_over_pi": SQRT_2_OVER_PI, "cubic": CUBIC},
        visible_shapes=VECTOR_VISIBLE,
        hidden_shapes=VECTOR_HIDDEN,
        timing_shape={"n": 2**20},
        gpu_timing_shape={"n": 2**22},
        tolerance=Tolerance(relative=1e-5, absolute=5e-6),
        operations="10*n",
        baseline=kernel_source(__package__, "gelu"),
        oracle=oracle,
    )
