"""Mean Huber loss of each row, delta = 1.

Error: the two branches meet with the same value and slope, so a difference near 1 that takes the other
branch costs nothing. Difference, square and sum of k positive terms are relative errors as in a mean
squared error, below 1e-5 for 261 columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import ROWS_VISIBLE, SHORT_ROWS_HIDDEN, kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance

DELTA = 1.0


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    size = xp.abs(inputs["x"] - inputs["target"])
    return {"loss": xp.mean(xp.where(size <= DELTA, 0.5 * size * size, DELTA * (size - 0.5 * DELTA)), axis=1)}


def task() -> Task:
    return make_task(
        name="huber_rows",
        title="Huber loss by row",
        tier=3,
        family="loss",
        description=(
            "Mean Huber loss of each row with delta = 1; x and target are row-major, rows x cols elements. "
            "With d = |x[r * cols + c] - target[r * cols + c]| the element's loss is 0.5 * d^2 where d <= "
            "1, and d - 0.5 elsewhere; loss[r] is the mean of that over the columns of row r."
        ),
        dimensions=("rows", "cols"),
        inputs={"x": ("rows", "cols"), "target": ("rows", "cols")},
        outputs={"loss": ("rows",)},
        scalars={"delta": DELTA},
        visible_shapes=ROWS_VISIBLE,
        hidden_shapes=SHORT_ROWS_HIDDEN,
        timing_shape={"rows": 1024, "cols": 256},
        gpu_timing_shape={"rows": 16384, "cols": 256},
        distributions=("normal", "uniform", "large", "outliers"),
        tolerance=Tolerance(relative=2e-5, absolute=1e-7),
        operations="5*rows*cols",
        baseline=kernel_source(__package__, "huber_rows"),
        oracle=oracle,
    )
