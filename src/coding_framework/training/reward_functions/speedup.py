"""How much of a speedup is believed, and what it is worth.

A measured speedup is a ratio of two medians with intervals; it counts only when the interval of the ratio
excludes 1. A modelled time is exact: its interval is the value itself. Speedups of different kinds or
devices are never held against each other. Of host code only the share of the time in its own kernels is
paid: a fast library call beside a trivial kernel is somebody else's speed.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log

from coding_framework.config import RewardConfig
from coding_framework.records import Evaluation, KernelTiming, Record, TimeKind

IMPROVEMENT_RATIO = 1.02
"""A kernel must be this much faster than the best before to count as an improvement."""


class Speedup(Record):
    """A speedup with the range in which it lies."""

    value: float
    """Ratio of the medians."""
    low: float
    """Lower end: the slowest the kernel may be beside the quickest the reference may be."""
    high: float
    """Upper end."""
    kind: TimeKind
    """Measured or modelled."""
    device: str
    """On which GPU."""
    own_share: float
    """Share of the device time in the candidate's own kernels."""

    @classmethod
    def of(cls, timing: KernelTiming) -> Speedup:
        """From a timing; where the reference has no interval it is taken to be as noisy as the candidate."""
        low_us, high_us = timing.interval_us or (timing.median_us, timing.median_us)
        scale = timing.reference_median_us / timing.median_us
        reference_low_us, reference_high_us = timing.reference_interval_us or (
            low_us * scale,
            high_us * scale,
        )
        value = timing.speedup
        return cls(
            value=value,
            low=min(value, reference_low_us / high_us),
            high=max(value, reference_high_us / low_us),
            kind=timing.kind,
            device=timing.device,
            own_share=1.0 if timing.own_kernel_share is None else timing.own_kernel_share,
        )

    @property
    def told_from_one(self) -> bool:
        """Whether the interval excludes 1."""
        return self.low > 1 or self.high < 1

    def comparable(self, other: Speedup) -> bool:
        return (self.kind, self.device) == (other.kind, other.device)


def speedup_of(evaluation: Evaluation) -> Speedup | None:
    """None for what did not pass."""
    return Speedup.of(evaluation.timing) if evaluation.timing else None


def normalised(speedup: Speedup | None, config: RewardConfig) -> float:
    """0 where it cannot be told from 1 or is slower, 1 at the target and above, logarithmic between."""
    if speedup is None or not speedup.told_from_one:
        return 0.0
    counted = speedup.low if config.speedup_estimate == "lower" else speedup.value
    on_scale = log(max(1.0, counted)) / log(config.target_speedup)
    return speedup.own_share * min(1.0, on_scale)


def improvement(evaluation: Evaluation, earlier: Sequence[Evaluation]) -> float:
    """1 for the first kernel that passes after failures or one truly faster than all before, else 0.

    Truly: by more than 2 %, and the two intervals do not touch. Host code gets the share that is its own.
    """
    now = speedup_of(evaluation)
    if not earlier or now is None:
        return 0.0
    before = [speedup for attempt in earlier if (speedup := speedup_of(attempt))]
    if all(now.comparable(other) and _faster(now, other) for other in before):
        return now.own_share
    return 0.0


def _faster(now: Speedup, other: Speedup) -> bool:
    apart = now.low > other.high or now.low == now.high
    return apart and now.value > other.value * IMPROVEMENT_RATIO
