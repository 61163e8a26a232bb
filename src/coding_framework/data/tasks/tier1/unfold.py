"""Every window of five neighbours becomes a row: what turns a convolution into a matrix product.

Error: none, the values are only moved; the budget is one rounding.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance

WIDTH = 5
VISIBLE = ({"n": 1000}, {"n": 2048})
HIDDEN = ({"n": 1}, {"n": 33}, {"n": 257}, {"n": 1007}, {"n": 3001})


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    x, n = inputs["x"], dimensions["n"]
    return {"y": xp.stack([x[k : k + n] for k in range(WIDTH)], axis=1)}


def task() -> Task:
    return make_task(
        name="unfold",
        title="Sliding windows as rows",
        tier=1,
        family="rearrangement",
        description=(
            f"Copy every window of {WIDTH} neighbours of a vector x of n + {WIDTH - 1} elements into a row "
            f"of y, which is row-major with n x {WIDTH} elements: y[{WIDTH} * i + k] = x[i + k] for k from "
            f"0 to {WIDTH - 1}."
        ),
        dimensions=("n",),
        inputs={"x": ("(n + 4)",)},
        outputs={"y": ("n", "5")},
        visible_shapes=VISIBLE,
        hidden_shapes=HIDDEN,
        timing_shape={"n": 2**17},
        gpu_timing_shape={"n": 2**20},
        distributions=("normal", "integers", "large"),
        tolerance=Tolerance(relative=1e-7, absolute=1e-9),
        operations="5*n",
        baseline=kernel_source(__package__, "unfold"),
        oracle=oracle,
    )
