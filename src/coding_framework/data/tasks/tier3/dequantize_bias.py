"""y = q * row_scale * col_scale + bias: what follows a product of whole numbers.

Error: the conversion of q is exact below 2**24; two products and a sum, each rounded once. Where product
and bias cancel, both are small (|bias| < 6), which leaves 1e-6; elsewhere 3 * 2**-24 of the result.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import ROWS_VISIBLE, SHORT_ROWS_HIDDEN, kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    rows = xp.reshape(inputs["row_scale"], (-1, 1))
    return {"y": inputs["q"] * rows * inputs["col_scale"] + inputs["bias"]}


def task() -> Task:
    return make_task(
        name="dequantize_bias",
        title="Dequantise and add bias",
        tier=3,
        family="quantisation",
        description=(
            "Turn the integer result of a quantised matrix product back into floats; q is row-major with "
            "rows x cols elements of type int: y[r * cols + c] = q[r * cols + c] * row_scale[r] * "
            "col_scale[c] + bias[c]."
        ),
        dimensions=("rows", "cols"),
        inputs={
            "q": ("rows", "cols"),
            "row_scale": ("rows",),
            "col_scale": ("cols",),
            "bias": ("cols",),
        },
        outputs={"y": ("rows", "cols")},
        dtypes={"q": "int32"},
        visible_shapes=ROWS_VISIBLE,
        hidden_shapes=SHORT_ROWS_HIDDEN,
        timing_shape={"rows": 1024, "cols": 1024},
        gpu_timing_shape={"rows": 2048, "cols": 2048},
        distributions=("large", "normal", "integers"),
        tolerance=Tolerance(relative=1e-6, absolute=4e-6),
        operations="4*rows*cols",
        baseline=kernel_source(__package__, "dequantize_bias"),
        oracle=oracle,
    )
