"""A multiplicative hash of 32-bit words: multiply, then two shifts with exclusive or.

Error: none, integers are compared exactly. The product spreads small inputs over all 32 bits, so that a
shift that brings in the sign shows. The oracle keeps the word in 64 bits (the product of a 32-bit number
and the multiplier fits) and reads the result as two's complement, as the cast in C does.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import VECTOR_HIDDEN, VECTOR_VISIBLE, kernel_source, make_task
from coding_framework.records import Dimensions, Task

MULTIPLIER = 2654435761
RIGHT, LEFT = 15, 7
WORD = 2**32 - 1
SIGN = 2**31


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    word = (xp.astype(inputs["x"], xp.int64) * MULTIPLIER) & WORD
    word = word ^ (word >> RIGHT)
    word = word ^ ((word << LEFT) & WORD)
    return {"y": xp.astype((word ^ SIGN) - SIGN, xp.float64)}


def task() -> Task:
    return make_task(
        name="mix_bits",
        title="Bit mixing of integers",
        tier=0,
        family="bit_mixing",
        description=(
            "Mix the bits of n int32 elements. Take x[i] as an unsigned 32-bit word v and compute within "
            f"32 bits: v = v * {MULTIPLIER}, then v = v ^ (v >> {RIGHT}), then v = v ^ (v << {LEFT}); "
            "right shifts bring in zeros. y[i] is v as int (two's complement)."
        ),
        dimensions=("n",),
        inputs={"x": ("n",)},
        outputs={"y": ("n",)},
        visible_shapes=VECTOR_VISIBLE,
        hidden_shapes=VECTOR_HIDDEN,
        timing_shape={"n": 2**20},
        gpu_timing_shape={"n": 2**22},
        dtypes={"x": "int32", "y": "int32"},
        distributions=("large", "integers", "outliers"),
        operations="5*n",
        baseline=kernel_source(__package__, "mix_bits"),
        oracle=oracle,
    )
