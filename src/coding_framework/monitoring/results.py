"""A share and how sure it is: Wilson's interval."""

from __future__ import annotations

from math import sqrt

from pydantic import Field

from coding_framework.records import Record

_Z_95 = 1.959963984540054
"""97.5 % quantile of the normal distribution."""


class Interval(Record):
    """A share and the range in which it lies with 95 % confidence."""

    value: float = Field(ge=0, le=1)
    """The share that was seen."""
    low: float = Field(ge=0, le=1)
    """Lower end."""
    high: float = Field(ge=0, le=1)
    """Upper end."""


def wilson_interval(successes: float, samples: float) -> Interval:
    """Wilson's score interval: unlike the normal one it is honest at 0/n, n/n and for small n.

    Counts need not be whole: weighted samples come with an effective number.
    """
    if not 0 <= successes <= samples or samples < 1:
        raise ValueError(f"{successes} successes of {samples} samples is no share")
    share, z2 = successes / samples, _Z_95**2
    centre = (share + z2 / (2 * samples)) / (1 + z2 / samples)
    half = _Z_95 * sqrt(share * (1 - share) / samples + z2 / (4 * samples**2)) / (1 + z2 / samples)
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    high = 1.0 if successes == samples else min(1.0, centre + half)
    return Interval(value=share, low=low, high=high)
