"""Softmax attention, several heads, each query against the keys up to its own place.

Error: a score is a sum of at most 32 products, good to 5e-7 of their size; what it is off by is the relative
error of its exponential. The weights sum to 1, so the output is off by that share of the values: 1e-6 for
normal inputs, and 1e-4, in one of many rows 2e-4, where the queries are scaled by 100. There scores reach
500 and overflow exp unless the largest is subtracted first: that is wanted. So that one budget suits both,
the values are scaled by 100 where the queries are not: it is 5e-6 of the values there, with room for fast
exponentials, and 5e-4 elsewhere, which values of 11 bits overrun. The head size is bounded, as it is in
practice, so that a thread or a warp can hold a row.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import LARGE_QUERIES, kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    scores = xp.matmul(inputs["q"], xp.permute_dims(inputs["k"], (0, 2, 1))) / dimensions["d"] ** 0.5
    seen = xp.tril(xp.ones_like(scores)) > 0
    lowest = xp.min(scores, axis=2, keepdims=True)
    shifted = scores - xp.max(xp.where(seen, scores, lowest), axis=2, keepdims=True)
    weights = xp.where(seen, xp.exp(xp.where(seen, shifted, xp.zeros_like(shifted))), xp.zeros_like(shifted))
    return {"y": xp.matmul(weights / xp.sum(weights, axis=2, keepdims=True), inputs["v"])}


def task() -> Task:
    return make_task(
        name="causal_attention",
        title="Causal attention",
        tier=3,
        family="attention",
        description=(
            "Causal softmax attention; q, k, v and y are row-major, heads x n x d, and d is at most 32. For "
            "each head h and query i only the keys 0 <= j <= i count: s_j = (sum over e of q[(h * n + i) * "
            "d + e] * k[(h * n + j) * d + e]) / sqrt(d), p_j = exp(s_j - m) / sum over t <= i of exp(s_t - "
            "m) with m the largest s_j, and y[(h * n + i) * d + e] = sum over j <= i of p_j * v[(h * n + j) "
            "* d + e] for 0 <= e < d."
        ),
        dimensions=("heads", "n", "d"),
        inputs=dict.fromkeys(("q", "k", "v"), ("heads", "n", "d")),
        outputs={"y": ("heads", "n", "d")},
        visible_shapes=({"heads": 2, "n": 16, "d": 32}, {"heads": 3, "n": 12, "d": 24}),
        hidden_shapes=(
            {"heads": 1, "n": 1, "d": 1},
            {"heads": 1, "n": 37, "d": 10},
            {"heads": 5, "n": 7, "d": 31},
            {"heads": 6, "n": 14, "d": 19},
        ),
        timing_shape={"heads": 8, "n": 32, "d": 32},
        gpu_timing_shape={"heads": 64, "n": 512, "d": 32},
        distributions=("normal", "uniform", "large"),
        drawn_as=LARGE_QUERIES,
        tolerance=Tolerance(relative=5e-5, absolute=5e-4),
        operations="2*heads*n*n*d",
        baseline=kernel_source(__package__, "causal_attention"),
        oracle=oracle,
    )
