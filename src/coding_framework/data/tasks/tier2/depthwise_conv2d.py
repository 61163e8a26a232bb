"""Every channel is convolved with a 3 x 3 filter of its own; zeros surround the image.

Error: nine products of standard normal values: 4e-6 at worst over four million pixels, 0.17 of the
budget there. Integers are exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import kernel_source, make_task
from coding_framework.data.tasks.tier2.image_shapes import with_zero_rim
from coding_framework.records import Dimensions, Task, Tolerance


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    height, width, weight = dimensions["height"], dimensions["width"], inputs["weight"]
    x = with_zero_rim(xp, inputs["x"], 1, (1, 2))
    places = ((u, v) for u in range(3) for v in range(3))
    return {
        "y": sum(weight[:, u : u + 1, v : v + 1] * x[:, u : u + height, v : v + width] for u, v in places)
    }


def task() -> Task:
    return make_task(
        name="depthwise_conv2d",
        title="Depthwise 2D convolution",
        tier=2,
        family="convolution",
        description=(
            "Convolve every channel with a filter of its own: x is a row-major array of "
            "channels x height x width, weight of channels x 3 x 3: y[(q * height + r) * width + c] = "
            "sum over u and v from 0 to 2 of weight[(q * 3 + u) * 3 + v] * "
            "x[(q * height + r + u - 1) * width + (c + v - 1)], where pixels outside the image (r + u - 1 "
            "outside 0 to height - 1, or c + v - 1 outside 0 to width - 1) count as zero."
        ),
        dimensions=("channels", "height", "width"),
        inputs={"x": ("channels", "height", "width"), "weight": ("channels", "3", "3")},
        outputs={"y": ("channels", "height", "width")},
        visible_shapes=(
            {"channels": 4, "height": 32, "width": 32},
            {"channels": 3, "height": 20, "width": 36},
        ),
        hidden_shapes=(
            {"channels": 1, "height": 1, "width": 1},
            {"channels": 2, "height": 17, "width": 35},
            {"channels": 7, "height": 1, "width": 13},
            {"channels": 1, "height": 34, "width": 67},
            {"channels": 11, "height": 10, "width": 2},
        ),
        timing_shape={"channels": 32, "height": 128, "width": 128},
        gpu_timing_shape={"channels": 64, "height": 256, "width": 256},
        distributions=("normal", "uniform", "integers"),
        tolerance=Tolerance(relative=1e-5, absolute=5e-6),
        operations="18*channels*height*width",
        baseline=kernel_source(__package__, "depthwise_conv2d"),
        oracle=oracle,
    )
