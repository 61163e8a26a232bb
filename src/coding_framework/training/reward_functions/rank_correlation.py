"""Spearman's rank correlation with ties, in memory that is a few numbers for each value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt


def spearman(first: Sequence[float], second: Sequence[float]) -> float | None:
    """From -1 (order turned round) to 1 (the same order); None where one of them never differs."""
    one, two = _ranks(first), _ranks(second)
    if len(one) < 2:
        return None
    one, two = one - one.mean(), two - two.mean()
    scale = float(np.sqrt((one**2).sum() * (two**2).sum()))
    if scale == 0:
        return None
    return float(np.clip((one * two).sum() / scale, -1.0, 1.0))


def _ranks(values: Sequence[float]) -> npt.NDArray[Any]:
    """Equal values share the mean of their ranks. Rounded, so that noise in the last bit is a tie."""
    rounded = np.round(np.asarray(values, dtype=np.float64), 9)
    _, group, counts = np.unique(rounded, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    mean_rank = last - (counts - 1) / 2
    return np.asarray(mean_rank[group])
