"""y = transpose of x.

Error: none, the values are only moved; the budget is one rounding.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import ROWS_HIDDEN, ROWS_VISIBLE, kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    return {"y": xp.permute_dims(inputs["x"], (1, 0))}


def task() -> Task:
    return make_task(
        name="transpose",
        title="Transpose",
        tier=1,
        family="transpose",
        description=(
            "Transpose a row-major matrix x with rows x cols elements into y with cols x rows elements: "
            "y[c * rows + r] = x[r * cols + c]."
        ),
        dimensions=("rows", "cols"),
        inputs={"x": ("rows", "cols")},
        outputs={"y": ("cols", "rows")},
        visible_shapes=ROWS_VISIBLE,
        hidden_shapes=ROWS_HIDDEN,
        timing_shape={"rows": 1024, "cols": 1024},
        gpu_timing_shape={"rows": 2048, "cols": 2048},
        distributions=("normal", "integers", "constant_rows"),
        tolerance=Tolerance(relative=1e-7, absolute=1e-12),
        operations="rows*cols",
        baseline=kernel_source(__package__, "transpose"),
        oracle=oracle,
    )
