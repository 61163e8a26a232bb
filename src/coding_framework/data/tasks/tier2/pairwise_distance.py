"""Squared Euclidean distance of every point of x from every point of y.

Error: k squares of differences, all positive: at most k * 2**-24 of the sum and 1e-6 of it as measured
for k = 128. Whoever expands |x|^2 + |y|^2 - 2 x.y errs by some 2**-23 of |x|^2 + |y|^2, which random
points keep near the distance itself, except in one or two dimensions: the absolute part allows that.
The operations counted are those of the expanded form, which has the fewest.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import kernel_source, make_task
from coding_framework.data.tasks.tier2.product_shapes import HIDDEN, TIMING, VISIBLE
from coding_framework.records import Dimensions, Task, Tolerance


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    """Expanded, because all differences at once would fill a gigabyte; float64 has the bits to spare."""
    x, y = inputs["x"], inputs["y"]
    lengths = xp.sum(x * x, axis=1, keepdims=True) + xp.expand_dims(xp.sum(y * y, axis=1), axis=0)
    return {"d": lengths - 2.0 * xp.matmul(x, xp.permute_dims(y, (1, 0)))}


def task() -> Task:
    return make_task(
        name="pairwise_distance",
        title="Pairwise squared distances",
        tier=2,
        family="distance",
        description=(
            "Squared Euclidean distances between all pairs of points: x holds m points and y holds n points "
            "of k coordinates each, row-major: "
            "d[i * n + j] = sum over p of (x[i * k + p] - y[j * k + p])^2."
        ),
        dimensions=("m", "n", "k"),
        inputs={"x": ("m", "k"), "y": ("n", "k")},
        outputs={"d": ("m", "n")},
        visible_shapes=VISIBLE,
        hidden_shapes=HIDDEN,
        timing_shape=TIMING,
        gpu_timing_shape={"m": 1024, "n": 1024, "k": 128},
        distributions=("normal", "uniform", "integers"),
        tolerance=Tolerance(relative=2e-5, absolute=2e-5),
        operations="2*m*n*k",
        baseline=kernel_source(__package__, "pairwise_distance"),
        oracle=oracle,
    )
