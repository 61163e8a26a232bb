"""Cross entropy of each row of logits against dense target weights.

Error: each term is a target times (logsumexp - logit), near 100; the terms have both signs, since targets
are arbitrary numbers, and cancel. Partial sums reach 2e3 and their roundings add up to near 1e-3 over 261
columns, to more in one of many rows: hence the absolute part. The factor 32 is exact, and takes the logits
to where exp overflows unless the row's maximum is subtracted first: that is wanted.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import ROWS_VISIBLE, SHORT_ROWS_HIDDEN, kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance

SCALE = 32.0


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    logits = SCALE * inputs["x"]
    shifted = logits - xp.max(logits, axis=1, keepdims=True)
    log_total = xp.log(xp.sum(xp.exp(shifted), axis=1, keepdims=True))
    return {"loss": xp.sum(inputs["target"] * (log_total - shifted), axis=1)}


def task() -> Task:
    return make_task(
        name="cross_entropy",
        title="Cross entropy with dense targets",
        tier=3,
        family="loss",
        description=(
            "Cross entropy of each row of scaled logits against dense target weights; x and target are "
            "row-major, rows x cols elements. With z[c] = 32 * x[r * cols + c]: loss[r] = sum over c of "
            "target[r * cols + c] * (lse_r - z[c]), where lse_r = log of the sum over j of exp(z[j]), "
            "computed so that large logits do not overflow (subtract the row's maximum first). The weights "
            "of a row need not sum to 1."
        ),
        dimensions=("rows", "cols"),
        inputs={"x": ("rows", "cols"), "target": ("rows", "cols")},
        outputs={"loss": ("rows",)},
        scalars={"scale": SCALE},
        visible_shapes=ROWS_VISIBLE,
        hidden_shapes=SHORT_ROWS_HIDDEN,
        timing_shape={"rows": 1024, "cols": 256},
        gpu_timing_shape={"rows": 16384, "cols": 256},
        distributions=("normal", "uniform"),
        tolerance=Tolerance(relative=5e-5, absolute=4e-3),
        operations="7*rows*cols",
        baseline=kernel_source(__package__, "cross_entropy"),
        oracle=oracle,
    )
