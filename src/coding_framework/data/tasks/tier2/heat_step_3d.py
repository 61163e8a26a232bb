"""One explicit step of the heat equation: the seven-point stencil; zeros surround the grid.

Error: the neighbours' sum less six cells is rounded a few times at a size of at most 50 and multiplied
by 0.125, which is exact: 4e-7 at worst over four million cells, 0.1 of the budget there. Integers are
exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import kernel_source, make_task
from coding_framework.data.tasks.tier2.image_shapes import with_zero_rim
from coding_framework.records import Dimensions, Task, Tolerance

RATE = 0.125


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    depth, height, width = (dimensions[name] for name in ("depth", "height", "width"))
    x = inputs["x"]
    wide = with_zero_rim(xp, x, 1, (0, 1, 2))
    z, r, c = slice(1, depth + 1), slice(1, height + 1), slice(1, width + 1)
    around = wide[:depth, r, c] + wide[2:, r, c] + wide[z, :height, c] + wide[z, 2:, c]
    around = around + wide[z, r, :width] + wide[z, r, 2:]
    return {"y": x + RATE * (around - 6.0 * x)}


def task() -> Task:
    return make_task(
        name="heat_step_3d",
        title="Heat step in three dimensions",
        tier=2,
        family="stencil",
        description=(
            "One step of the heat equation on a row-major grid x with depth x height x width cells. With "
            "i = (z * height + r) * width + c: y[i] = x[i] + 0.125 * (around - 6 * x[i]), where around is "
            "the sum of the six neighbours of the cell: x at z - 1, z + 1, r - 1, r + 1, c - 1 and c + 1, "
            "the other two indices unchanged. Neighbours outside the grid count as zero."
        ),
        dimensions=("depth", "height", "width"),
        inputs={"x": ("depth", "height", "width")},
        outputs={"y": ("depth", "height", "width")},
        scalars={"rate": RATE},
        visible_shapes=(
            {"depth": 8, "height": 16, "width": 32},
            {"depth": 10, "height": 12, "width": 20},
        ),
        hidden_shapes=(
            {"depth": 1, "height": 1, "width": 1},
            {"depth": 9, "height": 11, "width": 35},
            {"depth": 17, "height": 1, "width": 5},
            {"depth": 2, "height": 19, "width": 33},
            {"depth": 1, "height": 13, "width": 67},
        ),
        timing_shape={"depth": 64, "height": 128, "width": 128},
        gpu_timing_shape={"depth": 128, "height": 128, "width": 256},
        distributions=("normal", "uniform", "integers"),
        tolerance=Tolerance(relative=1e-5, absolute=3e-6),
        operations="9*depth*height*width",
        baseline=kernel_source(__package__, "heat_step_3d"),
        oracle=oracle,
    )
