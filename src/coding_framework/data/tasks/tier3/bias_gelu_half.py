"""y = gelu(x + bias) in half precision, bias along the columns, GELU in its tanh form.

Error: computed in float32 and rounded once to float16 (2**-11 of the result, 6e-8 where it is subnormal);
where 1 + tanh(u) cancels, float32 adds below 1e-6. A sum that is rounded to half before GELU is off by
2**-11 of itself, which GELU magnifies for negative values: that is not within the budget everywhere.
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
    x = inputs["x"] + inputs["bias"]
    inner = SQRT_2_OVER_PI * (x + CUBIC * x * x * x)
    return {"y": 0.5 * x * (1.0 + xp.tanh(inner))}


def task() -> Task:
    return make_task(
        name="bias_gelu_half",
        title="Fused bias and GELU in half precision",
        tier=3,
        family="bias_activation",
        description=(
            "Add a bias to each row of a row-major half-precision matrix x with rows x cols elements, then "
            "GELU in its tanh form. Compute in float and round once at the end. With z = x[r * cols + c] + "
            "bias[c]: y[r * cols + c] = 0.5 * z * (1 + tanh(k * (z + 0.044715 * z^3))), k = sqrt(2 / pi) = "
            "0.7978845608."
        ),
        dimensions=("rows", "cols"),
        inputs={"x": ("rows", "cols"), "bias": ("cols",)},
        outputs={"y": ("rows", "cols")},
        dtypes={"x": "float16", "bias": "float16", "y": "float16"},
        scalars={"sqrt_2_over_pi": SQRT_2_OVER_PI, "cubic": CUBIC},
        visible_shapes=ROWS_VISIBLE,
        hidden_shapes=SHORT_ROWS_HIDDEN,
        timing_shape={"rows": 1024, "cols": 1024},
        gpu_timing_shape={"rows": 4096, "cols": 2048},
        distributions=("normal", "uniform", "large", "outliers"),
        tolerance=Tolerance(relative=1e-3, absolute=5e-6),
        operations="11*rows*cols",
        baseline=kernel_source(__package__, "bias_gelu_half"),
        oracle=oracle,
    )
