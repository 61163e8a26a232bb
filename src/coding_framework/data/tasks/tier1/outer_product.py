"""y = a times the transpose of b.

Error: one rounding, at most 2**-24 of the result at any scale; the budget of 1e-6 leaves a factor of 16.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import ROWS_HIDDEN, ROWS_VISIBLE, kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    return {"y": xp.expand_dims(inputs["a"], axis=1) * xp.expand_dims(inputs["b"], axis=0)}


def task() -> Task:
    return make_task(
        name="outer_product",
        title="Outer product",
        tier=1,
        family="outer_product",
        description=(
            "Outer product of a vector a of rows elements and a vector b of cols elements, row-major: y[r "
            "* cols + c] = a[r] * b[c]."
        ),
        dimensions=("rows", "cols"),
        inputs={"a": ("rows",), "b": ("cols",)},
        outputs={"y": ("rows", "cols")},
        visible_shapes=ROWS_VISIBLE,
        hidden_shapes=ROWS_HIDDEN,
        timing_shape={"rows": 1024, "cols": 1024},
        gpu_timing_shape={"rows": 2048, "cols": 2048},
        distributions=("normal", "uniform", "large", "outliers"),
        tolerance=Tolerance(relative=1e-6, absolute=1e-9),
        operations="rows*cols",
        baseline=kernel_source(__package__, "outer_product"),
        oracle=oracle,
    )
