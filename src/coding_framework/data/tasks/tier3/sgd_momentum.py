"""One step of gradient descent with momentum and weight decay.

Error: two fused or plain products and sums for the momentum, one more for the weight: below 4 * 2**-24 of
the terms, which are at most 16, also where they cancel.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import VECTOR_HIDDEN, VECTOR_VISIBLE, kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance

RATE, MOMENTUM, DECAY = 0.1, 0.9, 0.01


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    w, momentum = inputs["w"], inputs["momentum"]
    moved = MOMENTUM * momentum + inputs["gradient"] + DECAY * w
    return {"w_out": w - RATE * moved, "momentum_out": moved}


def task() -> Task:
    return make_task(
        name="sgd_momentum",
        title="SGD step with momentum",
        tier=3,
        family="optimizer_step",
        description=(
            "One step of stochastic gradient descent with momentum and weight decay, on arrays of n "
            "elements: momentum_out[i] = 0.9 * momentum[i] + gradient[i] + 0.01 * w[i], then w_out[i] = "
            "w[i] - 0.1 * momentum_out[i]. The inputs stay unchanged."
        ),
        dimensions=("n",),
        inputs={"w": ("n",), "gradient": ("n",), "momentum": ("n",)},
        outputs={"w_out": ("n",), "momentum_out": ("n",)},
        scalars={"rate": RATE, "momentum": MOMENTUM, "decay": DECAY},
        visible_shapes=VECTOR_VISIBLE,
        hidden_shapes=VECTOR_HIDDEN,
        timing_shape={"n": 2**20},
        gpu_timing_shape={"n": 2**22},
        distributions=("normal", "uniform", "integers"),
        tolerance=Tolerance(relative=1e-6, absolute=4e-6),
        operations="6*n",
        baseline=kernel_source(__package__, "sgd_momentum"),
        oracle=oracle,
    )
