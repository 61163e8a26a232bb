"""y = a + t * (b - a): between two arrays, by a third.

Error: difference, product and sum are rounded once each, relative to |t| * |b - a|, which for standard
normal values stays below 30 in every draw: 3 * 30 * 2**-24 = 5e-6 at worst. The form (1 - t) * a + t * b
has as much. The budget is twice that; larger inputs would need a wider one, so whole numbers are drawn.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import VECTOR_HIDDEN, VECTOR_VISIBLE, kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    a, b, t = inputs["a"], inputs["b"], inputs["t"]
    return {"y": a + t * (b - a)}


def task() -> Task:
    return make_task(
        name="lerp",
        title="Linear interpolation",
        tier=0,
        family="blend",
        description=(
            "Interpolate between two vectors of n elements by a third: y[i] = a[i] + t[i] * (b[i] - "
            "a[i]). t[i] may be any number, also below 0 or above 1."
        ),
        dimensions=("n",),
        inputs={"a": ("n",), "b": ("n",), "t": ("n",)},
        outputs={"y": ("n",)},
        visible_shapes=VECTOR_VISIBLE,
        hidden_shapes=VECTOR_HIDDEN,
        timing_shape={"n": 2**20},
        gpu_timing_shape={"n": 2**22},
        distributions=("normal", "uniform", "integers"),
        tolerance=Tolerance(relative=1e-6, absolute=1e-5),
        operations="3*n",
        baseline=kernel_source(__package__, "lerp"),
        oracle=oracle,
    )
