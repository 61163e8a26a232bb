"""y = a + b in float16.

Error: the sum of two float16 numbers, whether by `__hadd` or in float32, is rounded once to 11 bits:
2**-11 = 4.9e-4 of the result at the most. The budget is that of one rounding to float16, twice as much.
Sums stay below 2,000, far from the largest float16.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import VECTOR_HIDDEN, VECTOR_VISIBLE, kernel_source, make_task
from coding_framework.records import Dimensions, Task


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    return {"y": inputs["a"] + inputs["b"]}


def task() -> Task:
    return make_task(
        name="vector_add_half",
        title="Half-precision add",
        tier=0,
        family="addition",
        description=("Add two vectors of n float16 elements: y[i] = a[i] + b[i], rounded to float16."),
        dimensions=("n",),
        inputs={"a": ("n",), "b": ("n",)},
        outputs={"y": ("n",)},
        visible_shapes=VECTOR_VISIBLE,
        hidden_shapes=VECTOR_HIDDEN,
        timing_shape={"n": 2**20},
        gpu_timing_shape={"n": 2**22},
        dtypes={"a": "float16", "b": "float16", "y": "float16"},
        operations="n",
        baseline=kernel_source(__package__, "vector_add_half"),
        oracle=oracle,
    )
