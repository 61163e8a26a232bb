"""tf32: the upper 19 bits of a float32, sign, exponent and ten bits of mantissa, in a 32-bit register.

PTX leaves open what `mma` makes of a factor whose lower 13 bits are not zero. The hardware does not look
at them, so `decode` cuts them off; rounding is what `cvt.rna.tf32.f32` is for (`wmma::__float_to_tf32`).
A NaN stays one, even where cutting it would leave an infinity.
"""

from __future__ import annotations

import numpy as np

from coding_framework.cuda.executors.emulator.dtypes import Value

U32, F32 = np.uint32, np.float32
_KEPT = U32(0xFFFFE000)
_NOT_A_NUMBER = U32(0x7FFFFFFF)


def decode(bits: Value) -> Value:
    """The factor that a register stands for, as float32."""
    value = bits.view(F32)
    cut = (bits.view(U32) & _KEPT).view(F32)
    return np.where(np.isnan(value), value, cut)[()]


def encode(value: Value, mode: str) -> Value:
    """float32 into raw i32: `rna` (ties away from zero), `rn` (ties to even), `rz`; overflow is infinity."""
    bits = value.view(U32)
    if mode == "rna":
        bits = bits + U32(0x1000)
    elif mode == "rn":
        bits = bits + (U32(0x0FFF) + ((bits >> U32(13)) & U32(1)))
    return np.where(np.isnan(value), _NOT_A_NUMBER, bits & _KEPT)[()].view(np.int32)
