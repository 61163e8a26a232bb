"""A matrix with a border of one element, which repeats the edge.

Error: none, the values are only moved; the budget is one rounding.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import ROWS_HIDDEN, ROWS_VISIBLE, kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    x = inputs["x"]
    tall = xp.concat([x[:1, :], x, x[-1:, :]], axis=0)
    return {"y": xp.concat([tall[:, :1], tall, tall[:, -1:]], axis=1)}


def task() -> Task:
    return make_task(
        name="edge_pad",
        title="Pad by repeating edges",
        tier=1,
        family="padding",
        description=(
            "Pad a row-major matrix x with rows x cols elements by one element on each side, repeating "
            "the edge. y is row-major with (rows + 2) x (cols + 2) elements: y[r * (cols + 2) + c] = x[i "
            "* cols + j] with i = min(max(r - 1, 0), rows - 1) and j = min(max(c - 1, 0), cols - 1)."
        ),
        dimensions=("rows", "cols"),
        inputs={"x": ("rows", "cols")},
        outputs={"y": ("(rows + 2)", "(cols + 2)")},
        visible_shapes=ROWS_VISIBLE,
        hidden_shapes=ROWS_HIDDEN,
        timing_shape={"rows": 1000, "cols": 1000},
        gpu_timing_shape={"rows": 2048, "cols": 2048},
        distributions=("normal", "integers", "constant_rows"),
        tolerance=Tolerance(relative=1e-7, absolute=1e-9),
        operations="(rows + 2)*(cols + 2)",
        baseline=kernel_source(__package__, "edge_pad"),
        oracle=oracle,
    )
