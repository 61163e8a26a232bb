"""One step of AdamW; the second moment is kept as its root, so that no input must be positive.

Error: the moments are sums of two terms (a few 2**-24 of the terms). The update divides by the new root,
which is at least 0.03 of |gradient| and 0.999 of |root|: its error is a few 2**-24 of the update. An
update as large as the weight (an outlier, where gradient and root are both tiny) cancels it and leaves
that error alone: 1e-5 in the worst of some hundred million elements. The budget leaves a factor of five,
also for approximate roots and quotients.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import VECTOR_HIDDEN, VECTOR_VISIBLE, kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance

RATE, BETA1, BETA2, DECAY, EPSILON = 0.01, 0.9, 0.999, 0.1, 1e-3


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    w, gradient, root = inputs["w"], inputs["gradient"], inputs["root"]
    mean = BETA1 * inputs["mean"] + (1.0 - BETA1) * gradient
    root = xp.sqrt(BETA2 * root * root + (1.0 - BETA2) * gradient * gradient)
    return {"w_out": w - RATE * (mean / (root + EPSILON) + DECAY * w), "mean_out": mean, "root_out": root}


def task() -> Task:
    return make_task(
        name="adamw_step",
        title="AdamW step",
        tier=3,
        family="optimizer_step",
        description=(
            "One AdamW step without bias correction on arrays of n elements; root holds the square root of "
            "the second moment (its sign does not matter). With g = gradient[i]: mean_out[i] = 0.9 * "
            "mean[i] + 0.1 * g; root_out[i] = sqrt(0.999 * root[i]^2 + 0.001 * g^2); w_out[i] = w[i] - 0.01 "
            "* (mean_out[i] / (root_out[i] + 1e-3) + 0.1 * w[i]). The inputs stay unchanged."
        ),
        dimensions=("n",),
        inputs={"w": ("n",), "gradient": ("n",), "mean": ("n",), "root": ("n",)},
        outputs={"w_out": ("n",), "mean_out": ("n",), "root_out": ("n",)},
        scalars={"rate": RATE, "beta1": BETA1, "beta2": BETA2, "decay": DECAY, "eps": EPSILON},
        visible_shapes=VECTOR_VISIBLE,
        hidden_shapes=VECTOR_HIDDEN,
        timing_shape={"n": 2**19},
        gpu_timing_shape={"n": 2**22},
        distributions=("normal", "uniform", "small", "outliers"),
        tolerance=Tolerance(relative=1e-5, absolute=5e-5),
        operations="14*n",
        baseline=kernel_source(__package__, "adamw_step"),
        oracle=oracle,
    )
