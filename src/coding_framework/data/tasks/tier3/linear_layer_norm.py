"""y = layer norm of each row of (x @ w + bias), without scale and shift.

Error: k products give about sqrt(k) * 2**-24 of the partial sums, 2e-6 for k = 64. Where the values of a
row lie close together (two columns, say) the norm divides that by sqrt(eps) at the least, which is
why eps is 1e-3: 6e-5. Elsewhere a few 1e-6.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance

EPSILON = 1e-3


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    total = xp.matmul(inputs["x"], inputs["w"]) + inputs["bias"]
    centred = total - xp.mean(total, axis=1, keepdims=True)
    variance = xp.mean(centred * centred, axis=1, keepdims=True)
    return {"y": centred / xp.sqrt(variance + EPSILON)}


def task() -> Task:
    return make_task(
        name="linear_layer_norm",
        title="Linear layer and layer norm",
        tier=3,
        family="fused_product",
        description=(
            "Linear layer, then layer norm of each row without scale and shift: x is row-major rows x k, w "
            "is row-major k x cols, y is row-major rows x cols. With z[r, c] = bias[c] + sum over p of x[r "
            "* k + p] * w[p * cols + c]: y[r * cols + c] = (z[r, c] - mean_r) / sqrt(var_r + 1e-3), where "
            "mean_r is the mean of z over row r and var_r is the mean of (z[r, c] - mean_r)^2 over the row."
        ),
        dimensions=("rows", "cols", "k"),
        inputs={"x": ("rows", "k"), "w": ("k", "cols"), "bias": ("cols",)},
        outputs={"y": ("rows", "cols")},
        scalars={"eps": EPSILON},
        visible_shapes=({"rows": 48, "cols": 32, "k": 16}, {"rows": 21, "cols": 60, "k": 12}),
        hidden_shapes=(
            {"rows": 1, "cols": 1, "k": 1},
            {"rows": 3, "cols": 131, "k": 5},
            {"rows": 35, "cols": 6, "k": 33},
            {"rows": 37, "cols": 35, "k": 9},
        ),
        timing_shape={"rows": 512, "cols": 128, "k": 16},
        gpu_timing_shape={"rows": 16384, "cols": 256, "k": 64},
        distributions=("normal", "uniform"),
        tolerance=Tolerance(relative=1e-4, absolute=1e-4),
        operations="2*rows*cols*k + 8*rows*cols",
        baseline=kernel_source(__package__, "linear_layer_norm"),
        oracle=oracle,
    )
