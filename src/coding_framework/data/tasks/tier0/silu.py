"""SiLU (swish): y = x * sigmoid(x) = x / (1 + exp(-x)).

Error: `__expf` is off by about (2 + 1.2 * |x|) units of 2**-24. That is relative to the exponential,
which matters for negative x only, where the result itself falls as x * exp(x): relative errors stay below
2e-6 until the result is below 1e-6. exp(-x) overflows to infinity below x = -88, and x / infinity is the
0 that float64 gives within the absolute budget. Budget: a factor of four.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import VECTOR_HIDDEN, VECTOR_VISIBLE, kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    x = inputs["x"]
    return {"y": x / (1.0 + xp.exp(-x))}


def task() -> Task:
    return make_task(
        name="silu",
        title="SiLU",
        tier=0,
        family="activation",
        description=("Apply SiLU to n elements: y[i] = x[i] / (1 + exp(-x[i]))."),
        dimensions=("n",),
        inputs={"x": ("n",)},
        outputs={"y": ("n",)},
        visible_shapes=VECTOR_VISIBLE,
        hidden_shapes=VECTOR_HIDDEN,
        timing_shape={"n": 2**20},
        gpu_timing_shape={"n": 2**22},
        tolerance=Tolerance(relative=1e-5, absolute=1e-6),
        operations="4*n",
        baseline=kernel_source(__package__, "silu"),
        oracle=oracle,
    )
