"""y[r] = dot product of row r of a and row r of b.

Error: as for a matrix-vector product: 4e-5 at worst over 65,536 rows of 256 products of standard normal
values, 1e-4 over as many rows of 512. The budget leaves a factor of three; integers are exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import ROWS_HIDDEN, ROWS_VISIBLE, kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    return {"y": xp.sum(inputs["a"] * inputs["b"], axis=1)}


def task() -> Task:
    return make_task(
        name="row_dot",
        title="Dot products of rows",
        tier=1,
        family="row_reduction",
        description=(
            "Dot product of each row of a with the same row of b, both row-major with rows x cols "
            "elements: y[r] = sum over c of a[r * cols + c] * b[r * cols + c]."
        ),
        dimensions=("rows", "cols"),
        inputs={"a": ("rows", "cols"), "b": ("rows", "cols")},
        outputs={"y": ("rows",)},
        visible_shapes=ROWS_VISIBLE,
        hidden_shapes=ROWS_HIDDEN,
        timing_shape={"rows": 2048, "cols": 256},
        gpu_timing_shape={"rows": 16384, "cols": 256},
        distributions=("normal", "uniform", "integers"),
        tolerance=Tolerance(relative=5e-5, absolute=3e-4),
        operations="2*rows*cols",
        baseline=kernel_source(__package__, "row_dot"),
        oracle=oracle,
    )
