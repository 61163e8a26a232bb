"""The five-point stencil: four neighbours less four times the cell; zeros surround the grid.

Error: five terms, each sum rounded once at a size of at most 25: 3e-6 over four million cells. The
budget leaves a factor of three for a cell near zero, whatever the order of the terms. Integers are
exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import kernel_source, make_task
from coding_framework.data.tasks.tier2.image_shapes import HIDDEN, VISIBLE, with_zero_rim
from coding_framework.records import Dimensions, Task, Tolerance


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    height, width, x = dimensions["height"], dimensions["width"], inputs["x"]
    wide = with_zero_rim(xp, x, 1, (0, 1))
    vertical = wide[:height, 1 : width + 1] + wide[2:, 1 : width + 1]
    horizontal = wide[1 : height + 1, :width] + wide[1 : height + 1, 2:]
    return {"y": vertical + horizontal - 4.0 * x}


def task() -> Task:
    return make_task(
        name="laplacian_2d",
        title="Laplacian on a grid",
        tier=2,
        family="stencil",
        description=(
            "Five-point Laplacian of a row-major grid x with height x width cells: y[r * width + c] = "
            "x[(r - 1) * width + c] + x[(r + 1) * width + c] + x[r * width + c - 1] + x[r * width + c + 1] "
            "- 4 * x[r * width + c], where neighbours outside the grid (row -1 or height, column -1 or "
            "width) count as zero."
        ),
        dimensions=("height", "width"),
        inputs={"x": ("height", "width")},
        outputs={"y": ("height", "width")},
        visible_shapes=VISIBLE,
        hidden_shapes=HIDDEN,
        timing_shape={"height": 1024, "width": 512},
        gpu_timing_shape={"height": 2048, "width": 2048},
        distributions=("normal", "uniform", "integers"),
        tolerance=Tolerance(relative=1e-5, absolute=1e-5),
        operations="5*height*width",
        baseline=kernel_source(__package__, "laplacian_2d"),
        oracle=oracle,
    )
