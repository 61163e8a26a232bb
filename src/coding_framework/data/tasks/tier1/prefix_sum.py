"""y[r, c] = sum of the first c + 1 elements of row r.

Error: the last element of a row is its sum, and the others are sums of fewer terms: 6e-5 at worst over
65,536 rows of 256 standard normal terms, as for a row sum, and less in the tree of a parallel scan. The
budget leaves a factor of four and more; integers are exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import ROWS_VISIBLE, SHORT_ROWS_HIDDEN, kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    return {"y": xp.cumulative_sum(inputs["x"], axis=1)}


def task() -> Task:
    return make_task(
        name="prefix_sum",
        title="Inclusive prefix sum of rows",
        tier=1,
        family="scan",
        description=(
            "Inclusive prefix sum along each row of a row-major matrix x with rows x cols elements: y[r * "
            "cols + c] = sum over k from 0 to c of x[r * cols + k]."
        ),
        dimensions=("rows", "cols"),
        inputs={"x": ("rows", "cols")},
        outputs={"y": ("rows", "cols")},
        visible_shapes=ROWS_VISIBLE,
        hidden_shapes=SHORT_ROWS_HIDDEN,
        timing_shape={"rows": 1024, "cols": 128},
        gpu_timing_shape={"rows": 16384, "cols": 256},
        distributions=("normal", "uniform", "integers"),
        tolerance=Tolerance(relative=5e-5, absolute=3e-4),
        operations="rows*cols",
        baseline=kernel_source(__package__, "prefix_sum"),
        oracle=oracle,
    )
