"""When a tier may be left upwards, and when it has regressed.

Up: the *lower* ends of all intervals are above the gates and the least number of episodes is reached.
Down: a tier that was once proven to be above the demotion threshold, and whose *upper* end is now below
it. Between threshold and gate nothing happens, so noise cannot make a tier flap; and a tier that is merely
hard, never yet above the threshold, is not a regression.
"""

from __future__ import annotations

from collections.abc import Iterator

from coding_framework.config import CurriculumTier
from coding_framework.data.curriculum.statistics import TierRates
from coding_framework.monitoring.results import Interval


def missing_for_advance(tier: CurriculumTier, rates: TierRates | None, episodes: int) -> tuple[str, ...]:
    """What still stands in the way, in words; empty when the tier may be left."""
    if rates is None:
        return ("no episode yet",)
    return tuple(_missing(tier, rates, episodes))


def _missing(tier: CurriculumTier, rates: TierRates, episodes: int) -> Iterator[str]:
    if episodes < tier.min_episodes:
        yield f"{episodes} of {tier.min_episodes} episodes"
    if rates.compile_rate.low <= tier.min_compile_rate:
        yield f"compile rate {_words(rates.compile_rate)} is not above {tier.min_compile_rate:.0%}"
    if rates.success_rate.low <= tier.min_success_rate:
        yield f"success rate {_words(rates.success_rate)} is not above {tier.min_success_rate:.0%}"
    if tier.min_speedup is None:
        return
    if rates.speedup is None:
        yield "too few timed episodes for a median speedup"
    elif rates.speedup.low <= tier.min_speedup:
        yield (
            f"median speedup {rates.speedup.median:.2f}× [{rates.speedup.low:.2f}–{rates.speedup.high:.2f}] "
            f"({rates.speedup.time_kind}) is not above {tier.min_speedup:g}×"
        )


def is_proven(tier: CurriculumTier, rates: TierRates, demotion_share: float) -> bool:
    """Whether both rates are surely above the demotion thresholds."""
    return (
        rates.compile_rate.low > demotion_share * tier.min_compile_rate
        and rates.success_rate.low > demotion_share * tier.min_success_rate
    )


def regression(tier: CurriculumTier, rates: TierRates, demotion_share: float) -> str | None:
    """The rate that is surely below its demotion threshold, in words."""
    judged = (
        ("compile rate", rates.compile_rate, tier.min_compile_rate),
        ("success rate", rates.success_rate, tier.min_success_rate),
    )
    for name, rate, gate in judged:
        if rate.high < demotion_share * gate:
            return f"{name} {_words(rate)} of '{tier.name}' is below {demotion_share * gate:.0%}"
    return None


def proof(rates: TierRates) -> str:
    """The figures of a tier that was passed."""
    words = f"compile rate {_words(rates.compile_rate)}, success rate {_words(rates.success_rate)}"
    if rates.speedup is not None:
        words += f", median speedup {rates.speedup.median:.2f}× ({rates.speedup.time_kind})"
    return words


def _words(rate: Interval) -> str:
    return f"{rate.value:.0%} [{rate.low:.0%}–{rate.high:.0%}]"
