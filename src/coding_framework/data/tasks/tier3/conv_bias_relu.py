"""3 x 3 convolution with zero padding, bias and ReLU, several channels in and out.

Error: 9 * c_in products of standard normal values (45 in the checks, 144 on the GPU): about 12 * 2**-24
times the partial sums, below 2e-5. Integers are exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    x, weight = inputs["x"], inputs["weight"]
    channels, height, width = (dimensions[name] for name in ("c_in", "h", "w"))
    side = xp.zeros_like(x[:, :, :1])
    padded = xp.concat([side, x, side], axis=2)
    edge = xp.zeros_like(padded[:, :1, :])
    padded = xp.concat([edge, padded, edge], axis=1)
    total = xp.reshape(inputs["bias"], (-1, 1))
    for dy in range(3):
        for dx in range(3):
            window = padded[:, dy : dy + height, dx : dx + width]
            total = total + xp.matmul(weight[:, :, dy, dx], xp.reshape(window, (channels, height * width)))
    return {"y": xp.reshape(xp.where(total > 0, total, xp.zeros_like(total)), (-1, height, width))}


def task() -> Task:
    return make_task(
        name="conv_bias_relu",
        title="3x3 convolution, bias and ReLU",
        tier=3,
        family="convolution",
        description=(
            "3 x 3 convolution (cross-correlation) with stride 1 and zero padding, then bias and ReLU. x is "
            "row-major c_in x h x w, weight is row-major c_out x c_in x 3 x 3, y is row-major c_out x h x "
            "w: y[(o * h + i) * w + j] = max(bias[o] + sum over c, dy, dx of X(c, i + dy - 1, j + dx - 1) * "
            "weight[((o * c_in + c) * 3 + dy) * 3 + dx], 0) with dy and dx in 0, 1, 2, where X(c, a, b) = "
            "x[(c * h + a) * w + b] if 0 <= a < h and 0 <= b < w, else 0."
        ),
        dimensions=("c_in", "c_out", "h", "w"),
        inputs={"x": ("c_in", "h", "w"), "weight": ("c_out", "c_in", "3", "3"), "bias": ("c_out",)},
        outputs={"y": ("c_out", "h", "w")},
        visible_shapes=(
            {"c_in": 3, "c_out": 4, "h": 16, "w": 32},
            {"c_in": 2, "c_out": 6, "h": 20, "w": 24},
        ),
        hidden_shapes=(
            {"c_in": 1, "c_out": 1, "h": 1, "w": 1},
            {"c_in": 2, "c_out": 3, "h": 17, "w": 33},
            {"c_in": 1, "c_out": 5, "h": 3, "w": 67},
            {"c_in": 5, "c_out": 2, "h": 35, "w": 6},
        ),
        timing_shape={"c_in": 4, "c_out": 16, "h": 128, "w": 128},
        gpu_timing_shape={"c_in": 16, "c_out": 32, "h": 256, "w": 256},
        distributions=("normal", "uniform", "integers"),
        tolerance=Tolerance(relative=5e-5, absolute=5e-5),
        operations="18*c_in*c_out*h*w",
        baseline=kernel_source(__package__, "conv_bias_relu"),
        oracle=oracle,
    )
