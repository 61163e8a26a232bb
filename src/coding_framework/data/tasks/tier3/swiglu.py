"""y = a * sigmoid(a) * b, element by element.

Error: nothing cancels, so every error is relative: the exponential's argument is rounded (|a| * 2**-24,
below 2e-6 where the result is not tiny), exp, sum, quotient and products add a few 2**-24 each. The
budget leaves room for fast exponentials. Outliers overflow exp(-a), and the quotient is then 0, as it
should be.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import VECTOR_HIDDEN, VECTOR_VISIBLE, kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    a = inputs["a"]
    return {"y": a / (1.0 + xp.exp(-a)) * inputs["b"]}


def task() -> Task:
    return make_task(
        name="swiglu",
        title="SwiGLU gate",
        tier=3,
        family="gated",
        description=(
            "SwiGLU gate of two arrays with n elements each: y[i] = a[i] / (1 + exp(-a[i])) * b[i]."
        ),
        dimensions=("n",),
        inputs={"a": ("n",), "b": ("n",)},
        outputs={"y": ("n",)},
        visible_shapes=VECTOR_VISIBLE,
        hidden_shapes=VECTOR_HIDDEN,
        timing_shape={"n": 2**20},
        gpu_timing_shape={"n": 2**22},
        distributions=("normal", "uniform", "outliers"),
        tolerance=Tolerance(relative=1e-5, absolute=1e-6),
        operations="5*n",
        baseline=kernel_source(__package__, "swiglu"),
        oracle=oracle,
    )
