"""y[i] = sum of the first i + 1 of n int32 elements.

Error: none, integers are compared exactly. Values of some hundreds over four million elements stay far
below 2**31.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import VECTOR_HIDDEN, VECTOR_VISIBLE, kernel_source, make_task
from coding_framework.records import Dimensions, Task


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    return {"y": xp.cumulative_sum(inputs["x"], axis=0)}


def task() -> Task:
    return make_task(
        name="prefix_sum_int32",
        title="Inclusive prefix sum of integers",
        tier=1,
        family="scan",
        description=(
            "Inclusive prefix sum of a vector of n int32 elements: y[i] = sum over k from 0 to i of x[k]. "
            "The sums fit into an int."
        ),
        dimensions=("n",),
        inputs={"x": ("n",)},
        outputs={"y": ("n",)},
        visible_shapes=VECTOR_VISIBLE,
        hidden_shapes=VECTOR_HIDDEN,
        timing_shape={"n": 2**16},
        gpu_timing_shape={"n": 2**22},
        dtypes={"x": "int32", "y": "int32"},
        distributions=("large", "integers", "outliers"),
        operations="n",
        baseline=kernel_source(__package__, "prefix_sum_int32"),
        oracle=oracle,
    )
