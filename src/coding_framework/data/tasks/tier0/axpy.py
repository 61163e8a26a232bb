"""y = alpha * a + b with a fixed alpha.

Error: two roundings without a fused multiply-add, the first of them relative to the product. Where the
sum cancels, the product of a standard normal value (below 10 in every draw) leaves 2**-24 * 10 = 6e-7 as
an absolute error; the budget leaves a factor of three. Inputs scaled by 100 would need one so wide that
it hides mistakes, so whole numbers are drawn instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import VECTOR_HIDDEN, VECTOR_VISIBLE, kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance

ALPHA = 1.75


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    return {"y": ALPHA * inputs["a"] + inputs["b"]}


def task() -> Task:
    return make_task(
        name="axpy",
        title="Scaled vector plus vector",
        tier=0,
        family="multiply_add",
        description=(f"Scale a vector of n elements and add another: y[i] = {ALPHA} * a[i] + b[i]."),
        dimensions=("n",),
        inputs={"a": ("n",), "b": ("n",)},
        outputs={"y": ("n",)},
        scalars={"alpha": ALPHA},
        visible_shapes=VECTOR_VISIBLE,
        hidden_shapes=VECTOR_HIDDEN,
        timing_shape={"n": 2**20},
        gpu_timing_shape={"n": 2**22},
        distributions=("normal", "uniform", "integers"),
        tolerance=Tolerance(relative=1e-6, absolute=2e-6),
        operations="2*n",
        baseline=kernel_source(__package__, "axpy"),
        oracle=oracle,
    )
