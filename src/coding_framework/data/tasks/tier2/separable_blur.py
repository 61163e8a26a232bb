"""A blur with the weights 1 4 6 4 1 along both axes; zeros surround the image.

Error: the weights are exact and add up to one, so a result errs by a few 2**-24 of the largest pixel
near it: 5e-7 at worst over four million pixels, 0.1 of the budget there. Integers are exact. The
operations counted are those of two passes of five products each.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import kernel_source, make_task
from coding_framework.data.tasks.tier2.image_shapes import HIDDEN, VISIBLE, with_zero_rim
from coding_framework.records import Dimensions, Task, Tolerance

WEIGHTS = (1 / 16, 4 / 16, 6 / 16, 4 / 16, 1 / 16)


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    height, width = dimensions["height"], dimensions["width"]
    x = with_zero_rim(xp, inputs["x"], 2, (0, 1))
    rows = sum(weight * x[:, v : v + width] for v, weight in enumerate(WEIGHTS))
    return {"y": sum(weight * rows[u : u + height, :] for u, weight in enumerate(WEIGHTS))}


def task() -> Task:
    return make_task(
        name="separable_blur",
        title="Separable blur",
        tier=2,
        family="convolution",
        description=(
            "Blur a row-major image x with height x width pixels by binomial weights: "
            "y[r * width + c] = sum over u and v from 0 to 4 of b[u] * b[v] / 256 * "
            "x[(r + u - 2) * width + (c + v - 2)] with b = 1, 4, 6, 4, 1, where pixels outside the image "
            "count as zero."
        ),
        dimensions=("height", "width"),
        inputs={"x": ("height", "width")},
        outputs={"y": ("height", "width")},
        visible_shapes=VISIBLE,
        hidden_shapes=HIDDEN,
        timing_shape={"height": 512, "width": 512},
        gpu_timing_shape={"height": 2048, "width": 2048},
        distributions=("normal", "uniform", "integers"),
        tolerance=Tolerance(relative=1e-5, absolute=1e-6),
        operations="20*height*width",
        baseline=kernel_source(__package__, "separable_blur"),
        oracle=oracle,
    )
