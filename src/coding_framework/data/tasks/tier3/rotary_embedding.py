"""Rotary position embedding: pairs of features turned by angles given as cosine and sine.

Error: two products and a sum, each rounded once: below 2**-23 of the terms, which are at most 64 where
they are not exact, also where they cancel. The arrays called cosine and sine are arbitrary numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    x, half = inputs["x"], dimensions["half"]
    shape = (dimensions["tokens"], 1, half)
    cosine, sine = xp.reshape(inputs["cosine"], shape), xp.reshape(inputs["sine"], shape)
    first, second = x[:, :, :half], x[:, :, half:]
    return {"y": xp.concat([first * cosine - second * sine, second * cosine + first * sine], axis=2)}


def task() -> Task:
    return make_task(
        name="rotary_embedding",
        title="Rotary position embedding",
        tier=3,
        family="position_embedding",
        description=(
            "Rotary position embedding. x and y are row-major, tokens x heads x (2 * half); cosine and sine "
            "are row-major, tokens x half, and are the same for all heads. With base = (t * heads + h) * 2 "
            "* half, u = x[base + i], v = x[base + half + i], co = cosine[t * half + i], si = sine[t * half "
            "+ i]: y[base + i] = u * co - v * si and y[base + half + i] = v * co + u * si, for 0 <= i < "
            "half. Use the given arrays; do not compute angles."
        ),
        dimensions=("tokens", "heads", "half"),
        inputs={"x": ("tokens", "heads", "2*half"), "cosine": ("tokens", "half"), "sine": ("tokens", "half")},
        outputs={"y": ("tokens", "heads", "2*half")},
        visible_shapes=({"tokens": 16, "heads": 4, "half": 32}, {"tokens": 9, "heads": 3, "half": 20}),
        hidden_shapes=(
            {"tokens": 1, "heads": 1, "half": 1},
            {"tokens": 37, "heads": 5, "half": 8},
            {"tokens": 3, "heads": 7, "half": 33},
            {"tokens": 65, "heads": 1, "half": 6},
        ),
        timing_shape={"tokens": 1024, "heads": 16, "half": 32},
        gpu_timing_shape={"tokens": 4096, "heads": 16, "half": 32},
        distributions=("normal", "uniform", "integers"),
        tolerance=Tolerance(relative=1e-6, absolute=5e-6),
        operations="6*tokens*heads*half",
        baseline=kernel_source(__package__, "rotary_embedding"),
        oracle=oracle,
    )
