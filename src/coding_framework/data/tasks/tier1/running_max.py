"""y[r, c] = largest of the first c + 1 elements of row r.

Error: none, values are copied; the budget is one rounding. The oracle doubles the distance that it looks
back in every step, because the array API has no running maximum.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import ROWS_VISIBLE, SHORT_ROWS_HIDDEN, kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    y, distance = inputs["x"], 1
    while distance < dimensions["cols"]:
        y = xp.concat([y[:, :distance], xp.maximum(y[:, distance:], y[:, :-distance])], axis=1)
        distance *= 2
    return {"y": y}


def task() -> Task:
    return make_task(
        name="running_max",
        title="Running maximum of rows",
        tier=1,
        family="scan",
        description=(
            "Running maximum along each row of a row-major matrix x with rows x cols elements: y[r * cols "
            "+ c] = max over k from 0 to c of x[r * cols + k]."
        ),
        dimensions=("rows", "cols"),
        inputs={"x": ("rows", "cols")},
        outputs={"y": ("rows", "cols")},
        visible_shapes=ROWS_VISIBLE,
        hidden_shapes=SHORT_ROWS_HIDDEN,
        timing_shape={"rows": 1024, "cols": 128},
        gpu_timing_shape={"rows": 16384, "cols": 256},
        distributions=("normal", "large", "integers", "far_below"),
        tolerance=Tolerance(relative=1e-7, absolute=1e-9),
        operations="rows*cols",
        baseline=kernel_source(__package__, "running_max"),
        oracle=oracle,
    )
