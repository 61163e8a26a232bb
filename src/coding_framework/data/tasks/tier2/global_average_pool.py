"""The mean of each plane.

Error: k values in one sequential sum err by about sqrt(k) * 2**-24 of partial sums of about sqrt(k),
so the mean errs by some 2**-24 whatever k is: 2e-7 at worst over 16,384 planes of 256. The budget is
1e-6, too narrow for a rounded input of a small plane.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    return {"y": xp.mean(inputs["x"], axis=(1, 2))}


def task() -> Task:
    return make_task(
        name="global_average_pool",
        title="Global average pooling",
        tier=2,
        family="pooling",
        description=(
            "Mean of each plane: x holds planes row-major images of height x width: "
            "y[p] = (sum over r and c of x[(p * height + r) * width + c]) / (height * width)."
        ),
        dimensions=("planes", "height", "width"),
        inputs={"x": ("planes", "height", "width")},
        outputs={"y": ("planes",)},
        visible_shapes=({"planes": 64, "height": 8, "width": 16}, {"planes": 50, "height": 7, "width": 10}),
        hidden_shapes=(
            {"planes": 1, "height": 1, "width": 1},
            {"planes": 131, "height": 5, "width": 6},
            {"planes": 3, "height": 17, "width": 35},
            {"planes": 33, "height": 1, "width": 13},
        ),
        timing_shape={"planes": 1024, "height": 16, "width": 16},
        gpu_timing_shape={"planes": 16384, "height": 16, "width": 16},
        distributions=("normal", "uniform", "integers"),
        tolerance=Tolerance(relative=1e-5, absolute=1e-6),
        operations="planes*height*width",
        baseline=kernel_source(__package__, "global_average_pool"),
        oracle=oracle,
    )
