"""Narrower number formats, and arrays that round to one after every operation.

Guarantees: rounding is to nearest, ties to even, with subnormals; what overflows stays at the largest
value, because the cleverest downcast would. Sums and products of an array are formed in float64 and
rounded once, as a kernel with narrow storage and wide accumulators does: a coarser kernel has
larger errors, so what rejects this one rejects that one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from coding_framework.records import DType

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class NarrowFormat:
    """A number format with fewer bits than a task asks for."""

    name: str
    bits: int
    """Significant bits, the leading one included; 0 for whole numbers."""
    least_exponent: int
    """Exponent of the smallest normal value."""
    largest: float

    def round(self, values: Floats) -> Floats:
        """The nearest values of this format."""
        if self.bits == 0:
            return np.asarray(np.clip(np.rint(values), -self.largest - 1, self.largest))
        exponent = np.maximum(np.frexp(values)[1], self.least_exponent + 1) - self.bits
        rounded = np.ldexp(np.rint(np.ldexp(values, -exponent)), exponent)
        return np.asarray(np.clip(rounded, -self.largest, self.largest))


FLOAT16 = NarrowFormat("float16", 11, -14, 65504.0)
BFLOAT16 = NarrowFormat("bfloat16", 8, -126, 3.3895313892515355e38)
TF32 = NarrowFormat("tf32", 11, -126, 3.4011621342146535e38)
FLOAT8 = NarrowFormat("float8 (e4m3)", 4, -6, 448.0)
INT8 = NarrowFormat("int8", 0, 0, 127.0)

NARROWER: dict[DType, tuple[NarrowFormat, ...]] = {
    "float32": (FLOAT16, BFLOAT16, TF32),
    "float16": (FLOAT8,),
    "bfloat16": (FLOAT8,),
    "int32": (INT8,),
}
"""What a kernel might compute in instead of what it was asked for."""


class RoundedArray(np.ndarray[Any, np.dtype[np.float64]]):
    """A float64 array whose every result is rounded to `narrow`."""

    narrow: NarrowFormat | None = None

    def __array_finalize__(self, source: object) -> None:
        self.narrow = getattr(source, "narrow", None)

    def __array_ufunc__(self, ufunc: np.ufunc, method: Any, *inputs: Any, **options: Any) -> Any:
        narrow = next(a.narrow for a in inputs if isinstance(a, RoundedArray))
        plain = [np.asarray(a) if isinstance(a, RoundedArray) else a for a in inputs]
        targets = options.pop("out", None)
        result = getattr(ufunc, method)(*plain, **options)
        if narrow is None or not isinstance(result, np.ndarray | np.floating):
            return result
        if result.dtype == np.float64:
            result = rounded_array(np.asarray(result), narrow)
        if targets is not None:
            targets[0][...] = result
            return targets[0]
        return result


def rounded_array(values: Floats, narrow: NarrowFormat) -> RoundedArray:
    """The values, rounded now and after every operation on them."""
    array = narrow.round(values).view(RoundedArray)
    array.narrow = narrow
    return array
