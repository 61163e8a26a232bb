"""y = x / sqrt(sum of x * x + eps), row by row.

Error: a sum of k squares errs by at most k * 2**-24 of itself (2e-5 for 261, 1e-6 as measured) and the
root halves that; quotient and root add a few 2**-24. The budget is 1e-5.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import ROWS_VISIBLE, SHORT_ROWS_HIDDEN, kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance

EPSILON = 1e-6


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    x = inputs["x"]
    return {"y": x / xp.sqrt(xp.sum(x * x, axis=1, keepdims=True) + EPSILON)}


def task() -> Task:
    return make_task(
        name="l2_normalise",
        title="L2 normalisation",
        tier=2,
        family="normalisation",
        description=(
            "Scale each row of a row-major matrix x with rows x cols elements to length one: "
            "y[r * cols + c] = x[r * cols + c] / sqrt(sum over j of x[r * cols + j]^2 + 1e-6)."
        ),
        dimensions=("rows", "cols"),
        inputs={"x": ("rows", "cols")},
        outputs={"y": ("rows", "cols")},
        scalars={"eps": EPSILON},
        visible_shapes=ROWS_VISIBLE,
        hidden_shapes=SHORT_ROWS_HIDDEN,
        timing_shape={"rows": 1024, "cols": 256},
        gpu_timing_shape={"rows": 16384, "cols": 256},
        distributions=("normal", "small", "large", "outliers"),
        tolerance=Tolerance(relative=1e-5, absolute=1e-7),
        operations="3*rows*cols",
        baseline=kernel_source(__package__, "l2_normalise"),
        oracle=oracle,
    )
