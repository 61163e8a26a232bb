"""A 5 x 5 filter slides over an image of one channel; zeros surround it.

Error: 25 products of standard normal values: 7e-6 at worst over four million pixels, 0.21 of the
budget there. Integers are exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import kernel_source, make_task
from coding_framework.data.tasks.tier2.image_shapes import HIDDEN, VISIBLE, with_zero_rim
from coding_framework.records import Dimensions, Task, Tolerance


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    height, width, weight = dimensions["height"], dimensions["width"], inputs["weight"]
    x = with_zero_rim(xp, inputs["x"], 2, (0, 1))
    parts = (weight[u, v] * x[u : u + height, v : v + width] for u in range(5) for v in range(5))
    return {"y": sum(parts)}


def task() -> Task:
    return make_task(
        name="conv2d",
        title="2D convolution of one channel",
        tier=2,
        family="convolution",
        description=(
            "Slide a 5 x 5 filter over a row-major image x with height x width pixels: "
            "y[r * width + c] = sum over u and v from 0 to 4 of weight[u * 5 + v] * "
            "x[(r + u - 2) * width + (c + v - 2)], where pixels outside the image count as zero."
        ),
        dimensions=("height", "width"),
        inputs={"x": ("height", "width"), "weight": ("5", "5")},
        outputs={"y": ("height", "width")},
        visible_shapes=VISIBLE,
        hidden_shapes=HIDDEN,
        timing_shape={"height": 512, "width": 512},
        gpu_timing_shape={"height": 2048, "width": 2048},
        distributions=("normal", "uniform", "integers"),
        tolerance=Tolerance(relative=1e-5, absolute=1e-5),
        operations="50*height*width",
        baseline=kernel_source(__package__, "conv2d"),
        oracle=oracle,
    )
