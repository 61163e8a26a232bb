"""y = residual + x / (1 - p) where the noise is at least p, else residual; p = 0.25.

Error: the choice compares given numbers with an exact one, so it is never in doubt; 4/3 is rounded once,
product and sum once each: below 2e-7 of the terms, which are at most 12, also where they cancel.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import VECTOR_HIDDEN, VECTOR_VISIBLE, kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance

DROPPED = 0.25


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    x = inputs["x"]
    kept = xp.where(inputs["noise"] >= DROPPED, x / (1.0 - DROPPED), xp.zeros_like(x))
    return {"y": inputs["residual"] + kept}


def task() -> Task:
    return make_task(
        name="dropout_residual",
        title="Dropout with given noise, plus residual",
        tier=3,
        family="dropout",
        description=(
            "Dropout with given noise, then a residual connection, on arrays of n elements: y[i] = "
            "residual[i] + x[i] * (4 / 3) where noise[i] >= 0.25, and y[i] = residual[i] elsewhere."
        ),
        dimensions=("n",),
        inputs={"residual": ("n",), "x": ("n",), "noise": ("n",)},
        outputs={"y": ("n",)},
        scalars={"dropped": DROPPED},
        visible_shapes=VECTOR_VISIBLE,
        hidden_shapes=VECTOR_HIDDEN,
        timing_shape={"n": 2**20},
        gpu_timing_shape={"n": 2**22},
        distributions=("normal", "uniform", "integers"),
        tolerance=Tolerance(relative=1e-6, absolute=2e-6),
        operations="3*n",
        baseline=kernel_source(__package__, "dropout_residual"),
        oracle=oracle,
    )
