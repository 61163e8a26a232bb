"""Rates and medians with intervals, from the latest episodes of a tier.

Rates: Wilson's 95 % interval. Tasks are drawn by how much there is to learn, so the hard ones fill the
window; every task therefore counts the same (episodes are weighted by one over their task's number in the
window), and the interval is as wide as Kish's effective number of samples says. Speedups: the median with
the interval between order statistics, which assumes nothing about their distribution and needs six.

Not guaranteed: an error rate over a whole training. A window is looked at after every episode, and each
look has its own 5 %.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from math import comb
from statistics import median

from pydantic import Field

from coding_framework.data.curriculum.outcome import Episode, EpisodeOutcome
from coding_framework.monitoring.results import Interval, wilson_interval
from coding_framework.records import Record, TimeKind

_TAIL = 0.025


class SpeedupRange(Record):
    """A median speedup and the range in which it lies with 95 % confidence."""

    median: float = Field(gt=0)
    """Of the episodes that passed."""
    low: float = Field(gt=0)
    """Lower end."""
    high: float = Field(gt=0)
    """Upper end."""
    time_kind: TimeKind
    """What the speedups are made of; one kind only."""
    samples: int = Field(ge=1)
    """How many."""


class TierRates(Record):
    """What a window of episodes shows."""

    episodes: int = Field(ge=1)
    """In the window."""
    compile_rate: Interval
    """Share that compiled."""
    success_rate: Interval
    """Share that passed every check."""
    speedup: SpeedupRange | None
    """Of those that passed; None where they are too few for an interval."""


def tier_rates(window: Sequence[Episode], *, count_tasks_equally: bool) -> TierRates | None:
    """None while there is nothing in the window."""
    if not window:
        return None
    return TierRates(
        episodes=len(window),
        compile_rate=_rate(window, lambda outcome: outcome.compiled, count_tasks_equally),
        success_rate=_rate(window, lambda outcome: outcome.passed, count_tasks_equally),
        speedup=median_speedup(window),
    )


def _rate(window: Sequence[Episode], holds: Callable[[EpisodeOutcome], bool], equally: bool) -> Interval:
    number = Counter(episode.task for episode in window)
    weights = [1 / number[episode.task] if equally else 1.0 for episode in window]
    good = [weight for weight, episode in zip(weights, window, strict=True) if holds(episode.outcome)]
    # Sums of rounded weights must not turn "all" into almost all.
    share = len(good) / len(window) if len(good) in (0, len(window)) else sum(good) / sum(weights)
    effective = sum(weights) ** 2 / sum(weight**2 for weight in weights)
    samples = max(1.0, min(float(len(window)), effective))
    return wilson_interval(share * samples, samples)


def median_speedup(window: Sequence[Episode]) -> SpeedupRange | None:
    """Of the latest run of one kind of time; a change of kind starts anew."""
    timed = [episode.outcome for episode in window if episode.outcome.speedup is not None]
    values: list[float] = []
    for outcome in reversed(timed):
        if outcome.time_kind != timed[-1].time_kind:
            break
        assert outcome.speedup is not None
        values.append(outcome.speedup)
    rank = _rank(len(values))
    if rank == 0:
        return None
    kind = timed[-1].time_kind
    assert kind is not None
    ordered = sorted(values)
    return SpeedupRange(
        median=median(ordered),
        low=ordered[rank - 1],
        high=ordered[-rank],
        time_kind=kind,
        samples=len(ordered),
    )


@lru_cache(maxsize=4096)
def _rank(samples: int) -> int:
    """The largest r for which fewer than r of the samples lie below the median with at most 2.5 %."""
    below, rank = 0, 0
    while True:
        below += comb(samples, rank)
        if below > _TAIL * 2**samples:
            return rank
        rank += 1
