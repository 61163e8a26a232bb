"""Two vectors woven into one: y = a[0], b[0], a[1], b[1], ...

Error: none, the values are only moved; the budget is one rounding.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import VECTOR_VISIBLE, kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance

HIDDEN = ({"n": 1}, {"n": 33}, {"n": 257}, {"n": 1007}, {"n": 7001})


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    return {"y": xp.reshape(xp.stack([inputs["a"], inputs["b"]], axis=1), (-1,))}


def task() -> Task:
    return make_task(
        name="interleave",
        title="Interleave",
        tier=1,
        family="rearrangement",
        description=(
            "Interleave two vectors of n elements into one of 2 * n elements: y[2 * i] = a[i] and y[2 * i "
            "+ 1] = b[i]."
        ),
        dimensions=("n",),
        inputs={"a": ("n",), "b": ("n",)},
        outputs={"y": ("2*n",)},
        visible_shapes=VECTOR_VISIBLE,
        hidden_shapes=HIDDEN,
        timing_shape={"n": 2**19},
        gpu_timing_shape={"n": 2**22},
        distributions=("normal", "integers", "large"),
        tolerance=Tolerance(relative=1e-7, absolute=1e-9),
        operations="2*n",
        baseline=kernel_source(__package__, "interleave"),
        oracle=oracle,
    )
