"""The largest of each 2 x 2 window, windows side by side; the last ones are cut where a size is odd.

Exact: a maximum is one of its inputs; the budget (some units in the last place) is that of any
float32 result and hides no narrower type.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import kernel_source, make_task
from coding_framework.data.tasks.tier2.image_shapes import PLANES_HIDDEN, PLANES_VISIBLE
from coding_framework.records import Dimensions, Task


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    """A cut window keeps its maximum when its last row or column is taken twice."""
    x, (height, width) = inputs["x"], (dimensions["height"], dimensions["width"])
    x = xp.concat([x, x[:, -1:, :]], axis=1) if height % 2 else x
    x = xp.concat([x, x[:, :, -1:]], axis=2) if width % 2 else x
    windows = xp.reshape(x, (dimensions["planes"], (height + 1) // 2, 2, (width + 1) // 2, 2))
    return {"y": xp.max(windows, axis=(2, 4))}


def task() -> Task:
    return make_task(
        name="max_pool_2d",
        title="2D max pooling",
        tier=2,
        family="pooling",
        description=(
            "Max pooling with 2 x 2 windows side by side: x holds planes row-major images of "
            "height x width, y as many of rows x cols with rows = (height + 1) / 2 and "
            "cols = (width + 1) / 2, rounded down: y[(p * rows + r) * cols + c] = the largest of "
            "x[(p * height + 2 * r + u) * width + 2 * c + v] over u and v in 0, 1 as far as they lie in the "
            "image (2 * r + u < height and 2 * c + v < width)."
        ),
        dimensions=("planes", "height", "width"),
        inputs={"x": ("planes", "height", "width")},
        outputs={"y": ("planes", "ceil_div(height, 2)", "ceil_div(width, 2)")},
        visible_shapes=PLANES_VISIBLE,
        hidden_shapes=PLANES_HIDDEN,
        timing_shape={"planes": 16, "height": 256, "width": 256},
        gpu_timing_shape={"planes": 64, "height": 256, "width": 256},
        distributions=("normal", "uniform", "large", "integers", "far_below"),
        operations="planes*height*width",
        baseline=kernel_source(__package__, "max_pool_2d"),
        oracle=oracle,
    )
