"""Numbers with the range in which they lie with 95 % confidence.

Samples of one task are independent of each other: their shares have Wilson's interval. Samples of several
tasks are not (a task is easy or hard for all of its samples), so what is said of several tasks has a
bootstrap over tasks: whole tasks are drawn again, with everything that was sampled of them. Its percentiles
are taken further out where there are few tasks (Hesterberg 2015, "expanded percentile"), because drawing
again from few shows too little spread. Where all tasks say the same (0 of everything, say) there is no spread
to draw from, and a share has Wilson's interval over the number of tasks.

Guaranteed: the same input gives the same interval (the generator has a fixed seed). Not guaranteed: 95 %
for fewer than about five tasks; there the interval reaches from the lowest task to the highest.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import comb, sqrt
from statistics import NormalDist
from typing import Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from coding_framework.monitoring.results import Interval, wilson_interval
from coding_framework.records import Record

Method = Literal[
    "wilson", "wilson over tasks", "bootstrap over tasks", "bootstrap over samples", "newcombe", "none"
]
RESAMPLES = 4000
_SEED = 20261119
_NORMAL = NormalDist()
_Floats = npt.NDArray[np.float64]


class Estimate(Record):
    """A number and its 95 % interval."""

    value: float
    """As it was seen."""
    low: float
    """Lower end."""
    high: float
    """Upper end."""
    method: Method
    """How the interval was found."""
    count: int = Field(ge=1)
    """Of what it was found: so many samples, or so many tasks."""


def wilson_estimate(successes: int, samples: int) -> Estimate:
    """A share of independent samples."""
    return _of_interval(wilson_interval(successes, samples), "wilson", samples)


def bootstrap_ratio(
    tops: Sequence[float],
    bottoms: Sequence[float],
    *,
    share: bool,
    drawn: Literal["tasks", "samples"] = "tasks",
) -> Estimate | None:
    """Sum over sum, one pair for each task (or sample); None where the lower sum is nothing.

    With `share` the ratio lies between 0 and 1, and has an interval even if no two tasks differ.
    """
    top, bottom = np.asarray(tops, float), np.asarray(bottoms, float)
    kept = bottom > 0  # what has no part in the ratio says nothing of its spread
    top, bottom = top[kept], bottom[kept]
    count = len(top)
    if not count:
        return None
    value = float(top.sum() / bottom.sum())
    of_tasks = drawn == "tasks"
    if share and len(set((top / bottom).tolist())) == 1:
        alike: Method = "wilson over tasks" if of_tasks else "wilson"
        return _of_interval(wilson_interval(value * count, count), alike, count)
    low, high = _percentiles(top, bottom)
    method: Method = "bootstrap over tasks" if of_tasks else "bootstrap over samples"
    return Estimate(value=value, low=min(low, value), high=max(high, value), method=method, count=count)


def bootstrap_mean(values: Sequence[float], *, share: bool) -> Estimate | None:
    """Mean of one number for each task."""
    return bootstrap_ratio(values, [1.0] * len(values), share=share)


def difference_of_shares(before: Estimate, after: Estimate) -> Estimate:
    """Of two shares of independent samples, `after` less `before` (Newcombe 1998, method 10)."""
    value = after.value - before.value
    below = sqrt((after.value - after.low) ** 2 + (before.high - before.value) ** 2)
    above = sqrt((after.high - after.value) ** 2 + (before.value - before.low) ** 2)
    return Estimate(value=value, low=value - below, high=value + above, method="newcombe", count=after.count)


def mean_difference(differences: Sequence[float]) -> Estimate | None:
    """Of one paired difference for each task; tasks that all say the same show no spread and have none."""
    if not differences:
        return None
    if len(set(differences)) == 1:
        value = differences[0]
        return Estimate(value=value, low=value, high=value, method="none", count=len(differences))
    return bootstrap_mean(differences, share=False)


def pass_at_k(samples: int, passed: int, k: int) -> float:
    """The chance that one of k samples passes, unbiased (Chen et al. 2021, arXiv 2107.03374)."""
    if not 0 <= passed <= samples or not 1 <= k <= samples:
        raise ValueError(f"pass@{k} of {passed} in {samples} samples does not exist")
    missed: float = comb(samples - passed, k) / comb(samples, k)
    return 1.0 - missed


def sign_test(wins: int, losses: int) -> float:
    """Two-sided p-value of so many tasks won and lost, if both were equally likely; ties are left out."""
    count, least = wins + losses, min(wins, losses)
    tail: float = sum(comb(count, index) for index in range(least + 1)) / 2**count
    return min(1.0, 2 * tail)


def _percentiles(top: _Floats, bottom: _Floats) -> tuple[float, float]:
    weights = _resamples(len(top))
    ratios = (weights @ top) / (weights @ bottom)
    tail = _expanded_tail(len(top))
    low, high = np.quantile(ratios, [tail, 1 - tail])
    return float(low), float(high)


@lru_cache(maxsize=16)
def _resamples(count: int) -> _Floats:
    """How often each of so many is drawn, for every resample: the same for every figure."""
    generator = np.random.default_rng(_SEED)
    return generator.multinomial(count, [1 / count] * count, size=RESAMPLES).astype(np.float64)


def _expanded_tail(count: int) -> float:
    """How much is cut off at each end: 2.5 % for many tasks, less for few."""
    if count < 2:
        return 0.0
    return _NORMAL.cdf(-sqrt(count / (count - 1)) * _student(count - 1))


def _student(freedom: int) -> float:
    """The 97.5 % quantile of Student's t, by the first terms of its series (Abramowitz & Stegun 26.7.5)."""
    z = float(_NORMAL.inv_cdf(0.975))
    terms: tuple[float, ...] = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return z + sum(term / float(freedom ** (power + 1)) for power, term in enumerate(terms))


def _of_interval(interval: Interval, method: Method, count: int) -> Estimate:
    return Estimate(value=interval.value, low=interval.low, high=interval.high, method=method, count=count)
