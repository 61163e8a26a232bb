"""Each group of channels of a sample is brought to mean 0 and variance 1, then scaled by channel.

Error: as for layer norm: the mean of k values errs by about 2**-24 of them, and is subtracted from
values of their size; the variance errs by sqrt(k) * 2**-24 relative. Inputs with outliers have a
large mean against most values, which the absolute part covers. Inputs scaled by 0.001 make eps
matter, inputs scaled by 100 make it vanish.
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
    centred = x - xp.mean(x, axis=(2, 3), keepdims=True)
    variance = xp.mean(centred * centred, axis=(2, 3), keepdims=True)
    weight, bias = (xp.expand_dims(inputs[name], axis=2) for name in ("weight", "bias"))
    return {"y": centred / xp.sqrt(variance + EPSILON) * weight + bias}


def task() -> Task:
    return make_task(
        name="group_norm",
        title="Group norm",
        tier=2,
        family="normalisation",
        description=(
            "Group norm of x, a row-major array of batch x groups x channels x length elements, where "
            "channels is the number of channels of a group. Each group of each sample (channels * length "
            "neighbouring elements) has its own mean and variance (the mean of squared differences from the "
            "mean). With i = ((s * groups + g) * channels + c) * length + t: y[i] = (x[i] - mean_sg) / "
            "sqrt(var_sg + 1e-5) * weight[g * channels + c] + bias[g * channels + c]."
        ),
        dimensions=("batch", "groups", "channels", "length"),
        inputs={
            "x": ("batch", "groups", "channels", "length"),
            "weight": ("groups", "channels"),
            "bias": ("groups", "channels"),
        },
        outputs={"y": ("batch", "groups", "channels", "length")},
        scalars={"eps": EPSILON},
        visible_shapes=(
            {"batch": 4, "groups": 8, "channels": 4, "length": 64},
            {"batch": 3, "groups": 4, "channels": 6, "length": 50},
        ),
        hidden_shapes=(
            {"batch": 1, "groups": 1, "channels": 1, "length": 1},
            {"batch": 2, "groups": 3, "channels": 3, "length": 33},
            {"batch": 1, "groups": 2, "channels": 3, "length": 67},
            {"batch": 5, "groups": 1, "channels": 2, "length": 9},
            {"batch": 3, "groups": 4, "channels": 1, "length": 70},
        ),
        timing_shape={"batch": 32, "groups": 64, "channels": 4, "length": 32},
        gpu_timing_shape={"batch": 128, "groups": 128, "channels": 4, "length": 64},
        distributions=("normal", "large", "small", "outliers"),
        tolerance=Tolerance(relative=1e-4, absolute=5e-5),
        operations="8*batch*groups*channels*length",
        baseline=kernel_source(__package__, "group_norm"),
        oracle=oracle,
    )
