"""Softmax of 0.5 * x over those columns of a row where the mask is positive; 0 elsewhere.

Error: the scale is exact, the exponent's argument is rounded once (|x| / 2 * 2**-24 of the value), exp
adds a few 2**-24, and a sum of k positive terms at most k * 2**-24. A row with no positive mask is all
zeros, which a kernel that divides by the sum gets wrong: short rows show it. Inputs scaled by 100 reach
beyond 88 and overflow exp unless the largest is subtracted first: that is wanted.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import ROWS_VISIBLE, SHORT_ROWS_HIDDEN, kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance

SCALE = 0.5


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    x = SCALE * inputs["x"]
    kept = inputs["mask"] > 0
    lowest = xp.min(x, axis=1, keepdims=True)
    largest = xp.max(xp.where(kept, x, lowest), axis=1, keepdims=True)
    exponentials = xp.where(kept, xp.exp(xp.where(kept, x - largest, xp.zeros_like(x))), xp.zeros_like(x))
    total = xp.sum(exponentials, axis=1, keepdims=True)
    return {"y": exponentials / xp.where(total > 0, total, xp.ones_like(total))}


def task() -> Task:
    return make_task(
        name="masked_softmax",
        title="Scaled and masked softmax",
        tier=3,
        family="softmax",
        description=(
            "Scale, mask and softmax each row; x, mask and y are row-major, rows x cols elements. Column c "
            "of row r is kept if mask[r * cols + c] > 0. For kept columns y[r * cols + c] = exp(0.5 * x[r "
            "* cols + c] - m_r) / sum of exp(0.5 * x[r * cols + j] - m_r) over the kept columns j of row "
            "r, where m_r is the largest kept 0.5 * x[r * cols + j]. Columns that are not kept get 0; so "
            "does a whole row in which nothing is kept."
        ),
        dimensions=("rows", "cols"),
        inputs={"x": ("rows", "cols"), "mask": ("rows", "cols")},
        outputs={"y": ("rows", "cols")},
        scalars={"scale": SCALE},
        visible_shapes=ROWS_VISIBLE,
        hidden_shapes=(*SHORT_ROWS_HIDDEN, {"rows": 65, "cols": 2}),  # surely a row with nothing kept
        timing_shape={"rows": 1024, "cols": 256},
        gpu_timing_shape={"rows": 16384, "cols": 256},
        distributions=("normal", "large", "uniform", "outliers", "far_below"),
        drawn_as={"far_below": {"mask": "normal"}},
        tolerance=Tolerance(relative=5e-5, absolute=1e-7),
        operations="7*rows*cols",
        baseline=kernel_source(__package__, "masked_softmax"),
        oracle=oracle,
    )
