"""y = gelu(left half of x) * right half of x, row by row, GELU in its tanh form.

Error: for a negative gate the sum 1 + tanh(u) cancels, which costs below 1e-6 of the gate's size, and the
other half multiplies it by up to 8; everything else is relative, a few 2**-24.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import ROWS_VISIBLE, SHORT_ROWS_HIDDEN, kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance

SQRT_2_OVER_PI = math.sqrt(2.0 / math.pi)
CUBIC = 0.044715


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    gate, value = inputs["x"][:, 0, :], inputs["x"][:, 1, :]
    inner = SQRT_2_OVER_PI * (gate + CUBIC * gate * gate * gate)
    return {"y": 0.5 * gate * (1.0 + xp.tanh(inner)) * value}


def task() -> Task:
    return make_task(
        name="geglu",
        title="GEGLU of packed halves",
        tier=3,
        family="gated",
        description=(
            "GEGLU of a row-major matrix x with rows x 2 x cols elements: the first half of each row is "
            "the gate g = x[r * 2 * cols + c], the second half the value v = x[r * 2 * cols + cols + c], "
            "and y[r * cols + c] = 0.5 * g * (1 + tanh(k * (g + 0.044715 * g^3))) * v for 0 <= c < cols, "
            "with k = sqrt(2 / pi) = 0.7978845608. y has rows x cols elements."
        ),
        dimensions=("rows", "cols"),
        inputs={"x": ("rows", "2", "cols")},
        outputs={"y": ("rows", "cols")},
        scalars={"sqrt_2_over_pi": SQRT_2_OVER_PI, "cubic": CUBIC},
        visible_shapes=ROWS_VISIBLE,
        hidden_shapes=SHORT_ROWS_HIDDEN,
        timing_shape={"rows": 1024, "cols": 512},
        gpu_timing_shape={"rows": 4096, "cols": 1024},
        distributions=("normal", "uniform", "integers"),
        tolerance=Tolerance(relative=1e-5, absolute=1e-5),
        operations="11*rows*cols",
        baseline=kernel_source(__package__, "geglu"),
        oracle=oracle,
    )
