"""y = x - log(sum(exp(x))), row by row.

Error: x - max is rounded once (2**-24 of it), the logarithm of the sum errs by a few 2**-24 relative
to at most 7; no cancellation, because both terms have the same sign. Whoever subtracts max + log(sum)
at once errs by 2**-24 of |x| instead: 4e-5 for inputs scaled by 100, which the absolute part allows.
Those inputs overflow exp unless the row's maximum is subtracted first: that is wanted.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import ROWS_VISIBLE, SHORT_ROWS_HIDDEN, kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    x = inputs["x"]
    shifted = x - xp.max(x, axis=1, keepdims=True)
    return {"y": shifted - xp.log(xp.sum(xp.exp(shifted), axis=1, keepdims=True))}


def task() -> Task:
    return make_task(
        name="log_softmax",
        title="Row log-softmax",
        tier=2,
        family="softmax",
        description=(
            "Logarithm of the softmax of each row of a row-major matrix x with rows x cols elements: "
            "y[r * cols + c] = x[r * cols + c] - max_r - log(sum over j of exp(x[r * cols + j] - max_r)), "
            "where max_r is the largest element of row r."
        ),
        dimensions=("rows", "cols"),
        inputs={"x": ("rows", "cols")},
        outputs={"y": ("rows", "cols")},
        visible_shapes=ROWS_VISIBLE,
        hidden_shapes=SHORT_ROWS_HIDDEN,
        timing_shape={"rows": 2048, "cols": 128},
        gpu_timing_shape={"rows": 16384, "cols": 256},
        distributions=("normal", "uniform", "large", "outliers", "far_below"),
        tolerance=Tolerance(relative=1e-5, absolute=1e-4),
        operations="5*rows*cols",
        baseline=kernel_source(__package__, "log_softmax"),
        oracle=oracle,
    )
