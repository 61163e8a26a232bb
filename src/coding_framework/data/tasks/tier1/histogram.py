"""How many of n integers fall into each of 64 bins.

Error: none, counts are compared exactly, and additions of integers may come in any order. A value's bin
is its remainder, which is never negative, so every value is legal.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import VECTOR_HIDDEN, VECTOR_VISIBLE, kernel_source, make_task
from coding_framework.records import Dimensions, Task

BINS = 64


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    bins = inputs["x"] % BINS
    counts = [xp.sum(xp.astype(bins == value, xp.float64)) for value in range(BINS)]
    return {"counts": xp.stack(counts)}


def task() -> Task:
    return make_task(
        name="histogram",
        title="Histogram",
        tier=1,
        family="histogram",
        description=(
            f"Count n int32 elements in {BINS} bins: counts[b] is the number of i with (x[i] & {BINS - 1}) "
            f"== b, for b from 0 to {BINS - 1}; x[i] may be negative, and & takes its lowest bits. counts "
            "is not zero at the start."
        ),
        dimensions=("n",),
        inputs={"x": ("n",)},
        outputs={"counts": ("64",)},
        visible_shapes=VECTOR_VISIBLE,
        hidden_shapes=VECTOR_HIDDEN,
        timing_shape={"n": 2**16},
        gpu_timing_shape={"n": 2**22},
        dtypes={"x": "int32", "counts": "int32"},
        distributions=("large", "integers", "outliers"),
        operations="n",
        baseline=kernel_source(__package__, "histogram"),
        oracle=oracle,
    )
