"""Every matrix of a batch transposed.

Error: none, the values are only moved; the budget is one rounding.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance

VISIBLE = ({"batch": 4, "rows": 32, "cols": 64}, {"batch": 3, "rows": 20, "cols": 50})
HIDDEN = (
    {"batch": 1, "rows": 1, "cols": 1},
    {"batch": 5, "rows": 1, "cols": 67},
    {"batch": 2, "rows": 33, "cols": 65},
    {"batch": 17, "rows": 9, "cols": 3},
)


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    return {"y": xp.permute_dims(inputs["x"], (0, 2, 1))}


def task() -> Task:
    return make_task(
        name="batched_transpose",
        title="Batched transpose",
        tier=1,
        family="transpose",
        description=(
            "Transpose every matrix of a batch: x holds batch row-major matrices with rows x cols "
            "elements, y as many with cols x rows elements: y[b * rows * cols + c * rows + r] = x[b * "
            "rows * cols + r * cols + c]."
        ),
        dimensions=("batch", "rows", "cols"),
        inputs={"x": ("batch", "rows", "cols")},
        outputs={"y": ("batch", "cols", "rows")},
        visible_shapes=VISIBLE,
        hidden_shapes=HIDDEN,
        timing_shape={"batch": 16, "rows": 128, "cols": 256},
        gpu_timing_shape={"batch": 64, "rows": 256, "cols": 256},
        distributions=("normal", "integers", "constant_rows"),
        tolerance=Tolerance(relative=1e-7, absolute=1e-12),
        operations="batch*rows*cols",
        baseline=kernel_source(__package__, "batched_transpose"),
        oracle=oracle,
    )
