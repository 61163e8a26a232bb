"""Row r rotated to the left by r columns.

Error: none, the values are only moved; the budget is one rounding. Constant rows are not drawn: rotating
them changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import ROWS_HIDDEN, ROWS_VISIBLE, kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    rows, cols = dimensions["rows"], dimensions["cols"]
    x = inputs["x"]
    columns = xp.arange(cols, dtype=xp.int64, device=x.device)
    starts = xp.expand_dims(xp.arange(rows, dtype=xp.int64, device=x.device), axis=1)
    places = starts * cols + (columns + starts) % cols
    return {"y": xp.reshape(xp.take(xp.reshape(x, (-1,)), xp.reshape(places, (-1,)), axis=0), (rows, cols))}


def task() -> Task:
    return make_task(
        name="rotate_rows",
        title="Rotate rows",
        tier=1,
        family="rearrangement",
        description=(
            "Rotate row r of a row-major matrix x with rows x cols elements to the left by r columns: y[r "
            "* cols + c] = x[r * cols + (c + r) % cols]."
        ),
        dimensions=("rows", "cols"),
        inputs={"x": ("rows", "cols")},
        outputs={"y": ("rows", "cols")},
        visible_shapes=ROWS_VISIBLE,
        hidden_shapes=ROWS_HIDDEN,
        timing_shape={"rows": 1024, "cols": 1024},
        gpu_timing_shape={"rows": 2048, "cols": 2048},
        distributions=("normal", "integers", "large"),
        tolerance=Tolerance(relative=1e-7, absolute=1e-9),
        operations="rows*cols",
        baseline=kernel_source(__package__, "rotate_rows"),
        oracle=oracle,
    )
