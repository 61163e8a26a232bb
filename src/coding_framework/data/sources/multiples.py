"""Whether numbers are those of another computation, up to a constant factor."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

ROUNDING = 1e-6
"""Of the largest value: far above what float64 rounds, far below what differs."""
MAX_ELEMENTS = 2_000_000
"""Of a module's parameters, inputs and outputs: more take too long to compare."""


def is_multiple(values: NDArray[np.float64], of: NDArray[np.float64]) -> bool:
    """Whether `values` is a constant times `of`; what is zero everywhere is no multiple of anything."""
    if values.shape != of.shape or not (np.isfinite(values).all() and np.isfinite(of).all()):
        return False
    largest, square = float(np.abs(values).max(initial=0.0)), float((of * of).sum())
    if not largest or not square:
        return False
    factor = float((values * of).sum()) / square
    return float(np.abs(values - factor * of).max()) < ROUNDING * largest


def are_multiples(found: Sequence[NDArray[np.float64]], others: Sequence[NDArray[np.float64]]) -> bool:
    """The same for each of several outputs."""
    return len(found) == len(others) and all(map(is_multiple, found, others))
