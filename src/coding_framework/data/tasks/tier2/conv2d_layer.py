"""The convolution of a neural network: 3 x 3 filters over all channels; zeros surround the image.

Error: 9 * channels products of standard normal values, of which there are 144 at most: 4e-5 at worst
over two million outputs, a third of the budget there. Integers are exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import kernel_source, make_task
from coding_framework.data.tasks.tier2.image_shapes import with_zero_rim
from coding_framework.records import Dimensions, Task, Tolerance


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    channels, filters = dimensions["channels"], dimensions["filters"]
    height, width, weight = dimensions["height"], dimensions["width"], inputs["weight"]
    x = with_zero_rim(xp, inputs["x"], 1, (1, 2))
    y = 0.0
    for u in range(3):
        for v in range(3):
            pixels = xp.reshape(x[:, u : u + height, v : v + width], (channels, height * width))
            y = y + xp.matmul(weight[:, :, u, v], pixels)
    return {"y": xp.reshape(y, (filters, height, width))}


def task() -> Task:
    return make_task(
        name="conv2d_layer",
        title="2D convolution with channels",
        tier=2,
        family="convolution",
        description=(
            "A convolution layer: x is a row-major array of channels x height x width, weight of "
            "filters x channels x 3 x 3, y of filters x height x width: y[(f * height + r) * width + c] = "
            "sum over q below channels and over u and v from 0 to 2 of "
            "weight[((f * channels + q) * 3 + u) * 3 + v] * "
            "x[(q * height + r + u - 1) * width + (c + v - 1)], where pixels outside the image (r + u - 1 "
            "outside 0 to height - 1, or c + v - 1 outside 0 to width - 1) count as zero."
        ),
        dimensions=("channels", "filters", "height", "width"),
        inputs={"x": ("channels", "height", "width"), "weight": ("filters", "channels", "3", "3")},
        outputs={"y": ("filters", "height", "width")},
        visible_shapes=(
            {"channels": 4, "filters": 8, "height": 16, "width": 32},
            {"channels": 3, "filters": 4, "height": 20, "width": 30},
        ),
        hidden_shapes=(
            {"channels": 1, "filters": 1, "height": 1, "width": 1},
            {"channels": 3, "filters": 5, "height": 17, "width": 19},
            {"channels": 2, "filters": 1, "height": 7, "width": 37},
            {"channels": 5, "filters": 6, "height": 1, "width": 11},
            {"channels": 1, "filters": 3, "height": 18, "width": 33},
        ),
        timing_shape={"channels": 8, "filters": 16, "height": 64, "width": 128},
        gpu_timing_shape={"channels": 16, "filters": 32, "height": 256, "width": 256},
        distributions=("normal", "uniform", "integers"),
        tolerance=Tolerance(relative=2e-5, absolute=5e-5),
        operations="18*channels*filters*height*width",
        baseline=kernel_source(__package__, "conv2d_layer"),
        oracle=oracle,
    )
