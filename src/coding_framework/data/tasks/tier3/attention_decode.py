"""One query for each head against all stored keys and values.

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
    query = xp.reshape(inputs["q"], (dimensions["heads"], 1, dimensions["d"]))
    scores = xp.sum(query * inputs["k"], axis=2, keepdims=True) / dimensions["d"] ** 0.5
    weights = xp.exp(scores - xp.max(scores, axis=1, keepdims=True))
    return {"y": xp.sum(weights * inputs["v"], axis=1) / xp.sum(weights, axis=1)}


def task() -> Task:
    return make_task(
        name="attention_decode",
        title="Attention of one query (decoding)",
        tier=3,
        family="attention",
        description=(
            "Softmax attention of a single query for each head, as in decoding with a cache; d is at most "
            "32. q and y are row-major, heads x d; k and v are row-major, heads x n x d. For each head h: "
            "s_j = (sum over e of q[h * d + e] * k[(h * n + j) * d + e]) / sqrt(d) for 0 <= j < n, p_j = "
            "exp(s_j - m) / sum over t of exp(s_t - m) with m the largest s_j, and y[h * d + e] = sum over "
            "j of p_j * v[(h * n + j) * d + e] for 0 <= e < d."
        ),
        dimensions=("heads", "n", "d"),
        inputs={"q": ("heads", "d"), "k": ("heads", "n", "d"), "v": ("heads", "n", "d")},
        outputs={"y": ("heads", "d")},
        visible_shapes=({"heads": 2, "n": 32, "d": 32}, {"heads": 5, "n": 20, "d": 24}),
        hidden_shapes=(
            {"heads": 1, "n": 1, "d": 1},
            {"heads": 1, "n": 67, "d": 10},
            {"heads": 7, "n": 18, "d": 31},
            {"heads": 3, "n": 33, "d": 17},
        ),
        timing_shape={"heads": 32, "n": 256, "d": 32},
        gpu_timing_shape={"heads": 128, "n": 2048, "d": 32},
        distributions=("normal", "uniform", "large"),
        drawn_as=LARGE_QUERIES,
        tolerance=Tolerance(relative=5e-5, absolute=5e-4),
        operations="4*heads*n*d",
        baseline=kernel_source(__package__, "attention_decode"),
        oracle=oracle,
    )
