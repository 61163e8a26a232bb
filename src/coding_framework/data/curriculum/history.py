"""How a training went through the tiers, for plots and reports."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from coding_framework.data.curriculum.statistics import TierRates
from coding_framework.records import Record

Direction = Literal["advanced", "demoted"]


class TierChange(Record):
    """A move from one tier to another."""

    direction: Direction
    """Up or down."""
    from_tier: str
    """Name of the tier that was left."""
    to_tier: str
    """Name of the tier that was entered."""
    reason: str
    """The figures that decided, in words."""


class PerformancePoint(Record):
    """The state of the current tier after one episode."""

    episode: int = Field(ge=1)
    """Episodes recorded so far, over all tiers."""
    step: int | None = Field(default=None, ge=0)
    """Training step, if the caller told."""
    tier: int = Field(ge=0)
    """Index of the tier that was practised."""
    tier_name: str
    """Its name."""
    rates: TierRates
    """Its window: rates and speedup with their intervals."""
    change: TierChange | None = None
    """The move that this episode led to."""


class PerformanceHistory(Record):
    """Points in the order of episodes."""

    points: tuple[PerformancePoint, ...] = ()
    """Every few episodes, and at every move."""

    @property
    def changes(self) -> tuple[PerformancePoint, ...]:
        """The points at which the tier changed."""
        return tuple(point for point in self.points if point.change)

    def of_tier(self, name: str) -> tuple[PerformancePoint, ...]:
        """Points of one tier."""
        return tuple(point for point in self.points if point.tier_name == name)
