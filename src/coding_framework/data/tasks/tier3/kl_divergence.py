"""Kullback-Leibler divergence between the softmaxes of two matrices of logits, row by row.

Error: logarithms of probabilities are differences of numbers up to 500 (inputs scaled by 100), good to
3e-5, and are averaged with weights that sum to 1; the relative part covers that, for such divergences
are near 100. With normal inputs all is within a few 1e-6. Rows of one column give 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import ROWS_VISIBLE, SHORT_ROWS_HIDDEN, kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance


def _log_softmax(xp: ModuleType, logits: Any) -> Any:
    shifted = logits - xp.max(logits, axis=1, keepdims=True)
    return shifted - xp.log(xp.sum(xp.exp(shifted), axis=1, keepdims=True))


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    log_p, log_q = (_log_softmax(xp, inputs[name]) for name in ("x", "z"))
    return {"loss": xp.sum(xp.exp(log_p) * (log_p - log_q), axis=1)}


def task() -> Task:
    return make_task(
        name="kl_divergence",
        title="KL divergence of two softmaxes",
        tier=3,
        family="loss",
        description=(
            "Kullback-Leibler divergence of each row; x and z are logits, row-major, rows x cols elements. "
            "With p = softmax of row r of x and q = softmax of row r of z over the columns: loss[r] = sum "
            "over c of p[c] * (log p[c] - log q[c]). Work with log p[c] = x[r * cols + c] - m - log(sum "
            "over j of exp(x[r * cols + j] - m)), m the row's maximum, and likewise for q: probabilities "
            "may underflow."
        ),
        dimensions=("rows", "cols"),
        inputs={"x": ("rows", "cols"), "z": ("rows", "cols")},
        outputs={"loss": ("rows",)},
        visible_shapes=ROWS_VISIBLE,
        hidden_shapes=SHORT_ROWS_HIDDEN,
        timing_shape={"rows": 1024, "cols": 256},
        gpu_timing_shape={"rows": 16384, "cols": 256},
        distributions=("normal", "uniform", "large", "far_below"),
        tolerance=Tolerance(relative=1e-4, absolute=1e-5),
        operations="12*rows*cols",
        baseline=kernel_source(__package__, "kl_divergence"),
        oracle=oracle,
    )
