"""y = transpose of x, elements of two bytes.

Error: none, the values are only moved; the budget is far below one rounding to bfloat16.
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
        name="transpose_bfloat16",
        title="bfloat16 transpose",
        tier=1,
        family="transpose",
        description=(
            "Transpose a row-major bfloat16 matrix x with rows x cols elements into y with cols x rows "
            "elements: y[c * rows + r] = x[r * cols + c]."
        ),
        dimensions=("rows", "cols"),
        inputs={"x": ("rows", "cols")},
        outputs={"y": ("cols", "rows")},
        visible_shapes=ROWS_VISIBLE,
        hidden_shapes=ROWS_HIDDEN,
        timing_shape={"rows": 1024, "cols": 512},
        gpu_timing_shape={"rows": 4096, "cols": 2048},
        dtypes={"x": "bfloat16", "y": "bfloat16"},
        distributions=("normal", "integers", "constant_rows"),
        tolerance=Tolerance(relative=1e-7, absolute=1e-12),
        operations="rows*cols",
        baseline=kernel_source(__package__, "transpose_bfloat16"),
        oracle=oracle,
    )
