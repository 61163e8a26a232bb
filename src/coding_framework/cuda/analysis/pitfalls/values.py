"""Values as the tracer knows them: one integer for all threads, one for each, or none.

Guarantees: arithmetic never raises; integers of the block stay below `LIMIT` and those of threads wrap
at 64 bits; quotients of negative numbers are "not known" rather than guessed. Beside its value
everything carries what it depends on, which stays true where the value is not known.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

THREAD, BLOCK, DIMENSION, DATA = 1, 2, 4, 8
"""What a value depends on: threadIdx, blockIdx, a parameter or unknown constant, memory."""
LIMIT = 2**46

Lanes = NDArray[Any]
Data = int | Lanes | None


class Value(NamedTuple):
    """An integer for the whole block, one for each thread, or None if not known."""

    data: Data
    taint: int


class Region:
    """A piece of memory that can be indexed: a parameter's buffer, a shared or a local array."""

    __slots__ = ("element_bytes", "extents", "is_volatile", "name", "space")

    def __init__(
        self,
        name: str,
        space: str,
        element_bytes: int,
        extents: tuple[int | None, ...] = (None,),
        is_volatile: bool = False,
    ) -> None:
        self.name = name
        self.space = space
        self.element_bytes = element_bytes
        self.extents = extents
        self.is_volatile = is_volatile


class Pointer(NamedTuple):
    """A place in a region, in bytes from its start."""

    region: Region
    offset: Value
    element_bytes: int
    extents: tuple[int | None, ...]
    """Of the array that it names, outermost first; one None for a plain pointer, empty for an element."""
    is_volatile: bool


Known = Value | Pointer
UNKNOWN = Value(None, DIMENSION)


def combine(symbol: str, left: Value, right: Value) -> Value:
    """The value of `left symbol right`."""
    (a, taint), (b, other) = left, right
    taint |= other
    function = _OPERATIONS.get(symbol)
    if a is None or b is None or function is None:
        return Value(None, taint)
    if type(a) is not int:
        a = _plain(a)
    if type(b) is not int:
        b = _plain(b)
    elif type(a) is int:
        result = function(a, b)
        return Value(int(result) if result is not None and -LIMIT < result < LIMIT else None, taint)
    return Value(function(a, b), taint)


def negate(symbol: str, value: Value) -> Value:
    """The value of `-x`, `+x`, `~x` or `!x`."""
    data = value.data
    if data is None:
        return value
    if symbol == "!":
        return Value(int(data == 0) if isinstance(data, int) else data == 0, value.taint)
    data = _plain(data)
    return Value(-data if symbol == "-" else ~data if symbol == "~" else data, value.taint)


def select(lanes: Lanes, chosen: Value, other: Value, taint: int) -> Value:
    """`chosen` where `lanes` holds, else `other`."""
    taint |= chosen.taint | other.taint
    if chosen.data is None or other.data is None:
        return Value(None, taint)
    return Value(np.where(lanes, _plain(chosen.data), _plain(other.data)), taint)


def _plain(data: int | Lanes) -> int | Lanes:
    """Truth values as integers, because NumPy's arithmetic on them is not C's."""
    if isinstance(data, int) or data.dtype != np.bool_:
        return data
    return data.astype(np.int64)


def _divide(a: Any, b: Any) -> Data:
    return a // b if _least(a) >= 0 and _least(b) > 0 else None


def _remainder(a: Any, b: Any) -> Data:
    return a % b if _least(a) >= 0 and _least(b) > 0 else None


def _least(data: int | Lanes) -> int:
    """Python rounds quotients down and C towards zero: they agree where nothing is negative."""
    return data if isinstance(data, int) else int(data.min())


def _shift_left(a: Any, b: Any) -> Data:
    return a << b if isinstance(b, int) and 0 <= b < 32 else None


def _shift_right(a: Any, b: Any) -> Data:
    return a >> b if isinstance(b, int) and 0 <= b < 63 else None


def _smaller(a: Any, b: Any) -> Data:
    return min(a, b) if isinstance(a, int) and isinstance(b, int) else np.minimum(a, b)


def _larger(a: Any, b: Any) -> Data:
    return max(a, b) if isinstance(a, int) and isinstance(b, int) else np.maximum(a, b)


def _both(a: Any, b: Any) -> Data:
    return int(a != 0 and b != 0) if isinstance(a, int) and isinstance(b, int) else (a != 0) & (b != 0)


def _either(a: Any, b: Any) -> Data:
    return int(a != 0 or b != 0) if isinstance(a, int) and isinstance(b, int) else (a != 0) | (b != 0)


_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _divide,
    "%": _remainder,
    "<<": _shift_left,
    ">>": _shift_right,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "&&": _both,
    "||": _either,
    "min": _smaller,
    "max": _larger,
}
