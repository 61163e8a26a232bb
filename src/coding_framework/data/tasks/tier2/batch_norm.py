"""Each channel is brought to mean 0 and variance 1 over all samples, then scaled.

Error: as for layer norm, over at most 512 values a channel: mean and variance err by about
sqrt(k) * 2**-24 relative to the values. Inputs scaled by 0.001 make eps matter, inputs scaled by 100
make it vanish; outliers give a large mean, which the absolute part covers.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance

EPSILON = 1e-5


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    x = inputs["x"]
    centred = x - xp.mean(x, axis=(0, 2), keepdims=True)
    variance = xp.mean(centred * centred, axis=(0, 2), keepdims=True)
    weight, bias = (xp.expand_dims(inputs[name], axis=1) for name in ("weight", "bias"))
    return {"y": centred / xp.sqrt(variance + EPSILON) * weight + bias}


def task() -> Task:
    return make_task(
        name="batch_norm",
        title="Batch norm with the statistics of the batch",
        tier=2,
        family="normalisation",
        description=(
            "Batch norm of x, a row-major array of batch x channels x length elements, with the statistics "
            "of x itself: mean_c and var_c are mean and variance (the mean of squared differences from the "
            "mean) of channel c over all samples and positions. With i = (s * channels + c) * length + t: "
            "y[i] = (x[i] - mean_c) / sqrt(var_c + 1e-5) * weight[c] + bias[c]."
        ),
        dimensions=("batch", "channels", "length"),
        inputs={"x": ("batch", "channels", "length"), "weight": ("channels",), "bias": ("channels",)},
        outputs={"y": ("batch", "channels", "length")},
        scalars={"eps": EPSILON},
        visible_shapes=(
            {"batch": 8, "channels": 16, "length": 64},
            {"batch": 6, "channels": 10, "length": 50},
        ),
        hidden_shapes=(
            {"batch": 1, "channels": 1, "length": 1},
            {"batch": 5, "channels": 33, "length": 7},
            {"batch": 2, "channels": 3, "length": 67},
            {"batch": 7, "channels": 11, "length": 1},
            {"batch": 3, "channels": 21, "length": 19},
        ),
        timing_shape={"batch": 4, "channels": 1024, "length": 64},
        gpu_timing_shape={"batch": 8, "channels": 4096, "length": 64},
        distributions=("normal", "large", "small", "outliers"),
        tolerance=Tolerance(relative=1e-4, absolute=5e-5),
        operations="8*batch*channels*length",
        baseline=kernel_source(__package__, "batch_norm"),
        oracle=oracle,
    )
