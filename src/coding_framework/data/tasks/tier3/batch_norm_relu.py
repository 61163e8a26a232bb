"""y = max(batch norm of x, 0): mean and variance over the rows, column by column.

Error: mean and variance are sums of k terms (near sqrt(k) * 2**-24), the inverse root adds a few 2**-24.
With few rows the values of a column may lie close together; the mean's rounding is then divided by
sqrt(eps) at the least, 3e-5 for normal inputs. Squares of outliers swallow what is added to them: 1,024
rows, some of them small, take up to a fifth of the budget, 4,096 up to all of it. Inputs scaled by 100
would make that worse and are not drawn; scaled by 1e-3 they make eps matter.
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
    centred = x - xp.mean(x, axis=0, keepdims=True)
    variance = xp.mean(centred * centred, axis=0, keepdims=True)
    y = centred / xp.sqrt(variance + EPSILON) * inputs["weight"] + inputs["bias"]
    return {"y": xp.where(y > 0, y, xp.zeros_like(y))}


def task() -> Task:
    return make_task(
        name="batch_norm_relu",
        title="Fused batch norm and ReLU",
        tier=3,
        family="normalisation",
        description=(
            "Batch norm in training mode, then ReLU, of a row-major matrix x with rows x cols elements; "
            "rows are samples, columns are channels: y[r * cols + c] = max((x[r * cols + c] - mean_c) / "
            "sqrt(var_c + 1e-5) * weight[c] + bias[c], 0), where mean_c is the mean of column c over all "
            "rows and var_c is the mean of (x[r * cols + c] - mean_c)^2 over all rows (divided by rows, not "
            "by rows - 1)."
        ),
        dimensions=("rows", "cols"),
        inputs={"x": ("rows", "cols"), "weight": ("cols",), "bias": ("cols",)},
        outputs={"y": ("rows", "cols")},
        scalars={"eps": EPSILON},
        visible_shapes=({"rows": 128, "cols": 64}, {"rows": 100, "cols": 37}),
        hidden_shapes=(
            {"rows": 1, "cols": 1},
            {"rows": 259, "cols": 3},
            {"rows": 7, "cols": 129},
            {"rows": 65, "cols": 67},
            {"rows": 130, "cols": 6},
        ),
        timing_shape={"rows": 512, "cols": 512},
        gpu_timing_shape={"rows": 1024, "cols": 4096},
        distributions=("normal", "small", "outliers"),
        tolerance=Tolerance(relative=1e-4, absolute=5e-5),
        operations="9*rows*cols",
        baseline=kernel_source(__package__, "batch_norm_relu"),
        oracle=oracle,
    )
