"""The mean of each 3 x 3 window, windows one apart.

Error: nine terms, each sum rounded once, then divided by 9: 3e-7 at worst over four million windows,
0.1 of the budget there.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import kernel_source, make_task
from coding_framework.data.tasks.tier2.image_shapes import PLANES_HIDDEN, PLANES_VISIBLE
from coding_framework.records import Dimensions, Task, Tolerance


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    height, width, x = dimensions["height"], dimensions["width"], inputs["x"]
    places = ((u, v) for u in range(3) for v in range(3))
    return {"y": sum(x[:, u : u + height, v : v + width] for u, v in places) / 9.0}


def task() -> Task:
    return make_task(
        name="average_pool_2d",
        title="2D average pooling",
        tier=2,
        family="pooling",
        description=(
            "Average pooling with 3 x 3 windows that move by one: x holds planes row-major images of "
            "(height + 2) x (width + 2), y as many of height x width: y[(p * height + r) * width + c] = "
            "the mean of the nine values x[(p * (height + 2) + r + u) * (width + 2) + c + v] over u and v "
            "from 0 to 2. height and width are those of the output."
        ),
        dimensions=("planes", "height", "width"),
        inputs={"x": ("planes", "(height + 2)", "(width + 2)")},
        outputs={"y": ("planes", "height", "width")},
        visible_shapes=PLANES_VISIBLE,
        hidden_shapes=PLANES_HIDDEN,
        timing_shape={"planes": 32, "height": 128, "width": 128},
        gpu_timing_shape={"planes": 64, "height": 256, "width": 256},
        distributions=("normal", "uniform", "integers"),
        tolerance=Tolerance(relative=1e-5, absolute=1e-6),
        operations="9*planes*height*width",
        baseline=kernel_source(__package__, "average_pool_2d"),
        oracle=oracle,
    )
