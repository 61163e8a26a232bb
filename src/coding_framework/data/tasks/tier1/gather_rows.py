"""Rows of a table picked by integers, as an embedding does.

Error: none, the values are only moved; the budget is one rounding. An integer picks the row of its
remainder, which is never negative, so every integer is legal. The table is small beside what is written,
so that rows that nobody asks for hardly count in the compulsory traffic.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance

VISIBLE = ({"tokens": 100, "vocabulary": 50, "width": 64}, {"tokens": 200, "vocabulary": 30, "width": 20})
HIDDEN = (
    {"tokens": 1, "vocabulary": 1, "width": 1},
    {"tokens": 33, "vocabulary": 6, "width": 67},
    {"tokens": 257, "vocabulary": 61, "width": 3},
    {"tokens": 9, "vocabulary": 17, "width": 513},
)


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    rows = xp.astype(inputs["ids"] % dimensions["vocabulary"], xp.int64)
    return {"y": xp.take(inputs["table"], rows, axis=0)}


def task() -> Task:
    return make_task(
        name="gather_rows",
        title="Gather rows",
        tier=1,
        family="gather",
        description=(
            "Pick tokens rows of a row-major table with vocabulary x width elements by the integers ids: "
            "y[t * width + w] = table[row * width + w], where row = ids[t] mod vocabulary is the "
            "remainder from 0 to vocabulary - 1. ids[t] may be negative or large: row = ((ids[t] % "
            "vocabulary) + vocabulary) % vocabulary."
        ),
        dimensions=("tokens", "vocabulary", "width"),
        inputs={"ids": ("tokens",), "table": ("vocabulary", "width")},
        outputs={"y": ("tokens", "width")},
        visible_shapes=VISIBLE,
        hidden_shapes=HIDDEN,
        timing_shape={"tokens": 8192, "vocabulary": 256, "width": 128},
        gpu_timing_shape={"tokens": 2**15, "vocabulary": 256, "width": 128},
        dtypes={"ids": "int32"},
        distributions=("large", "integers", "outliers"),
        tolerance=Tolerance(relative=1e-7, absolute=1e-9),
        operations="tokens*width",
        baseline=kernel_source(__package__, "gather_rows"),
        oracle=oracle,
    )
