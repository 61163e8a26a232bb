"""y = 0.5 * a + 0.3 * b + 0.2 * c.

Error: the weights 0.3 and 0.2 are off by 2**-25 of themselves, three products and two sums are rounded:
six times 2**-24 of terms that stay below 3 for standard normal values: 1e-6 where they cancel. The budget
is twice that; larger inputs would need a wider one, so whole numbers are drawn.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import VECTOR_HIDDEN, VECTOR_VISIBLE, kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance

WEIGHTS = (0.5, 0.3, 0.2)


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    return {"y": WEIGHTS[0] * inputs["a"] + WEIGHTS[1] * inputs["b"] + WEIGHTS[2] * inputs["c"]}


def task() -> Task:
    return make_task(
        name="weighted_mean",
        title="Weighted mean of three",
        tier=0,
        family="blend",
        description=(
            f"Weighted mean of three vectors of n elements: y[i] = {WEIGHTS[0]} * a[i] + {WEIGHTS[1]} * "
            f"b[i] + {WEIGHTS[2]} * c[i]."
        ),
        dimensions=("n",),
        inputs={"a": ("n",), "b": ("n",), "c": ("n",)},
        outputs={"y": ("n",)},
        scalars={"of_a": WEIGHTS[0], "of_b": WEIGHTS[1], "of_c": WEIGHTS[2]},
        visible_shapes=VECTOR_VISIBLE,
        hidden_shapes=VECTOR_HIDDEN,
        timing_shape={"n": 2**20},
        gpu_timing_shape={"n": 2**22},
        distributions=("normal", "uniform", "integers"),
        tolerance=Tolerance(relative=1e-6, absolute=2e-6),
        operations="5*n",
        baseline=kernel_source(__package__, "weighted_mean"),
        oracle=oracle,
    )
