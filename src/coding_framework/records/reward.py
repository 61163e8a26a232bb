"""A reward and the parts it was made of."""

from __future__ import annotations

from pydantic import Field, FiniteFloat, model_validator

from coding_framework.records.base import Record

LOWEST_REWARD = -0.1
"""Only a kernel that never ends earns less than nothing."""
HIGHEST_REWARD = 1.0


def clip_reward(value: float) -> float:
    """Into the bounds that every reward keeps."""
    return min(HIGHEST_REWARD, max(LOWEST_REWARD, value))


class RewardComponents(Record):
    """Named parts that add up to `total`, so that any number can be explained."""

    preset: str
    """Which reward function."""
    parts: dict[str, FiniteFloat]
    """Signed contributions, in the order in which they were added."""
    total: float = Field(ge=LOWEST_REWARD, le=HIGHEST_REWARD)
    """The sum, clipped to the bounds."""
    explanation: str
    """The same in words."""
    terms: dict[str, float] = Field(default_factory=dict)
    """The counters behind the parts, each from 0 (bad) to 1 (good), e.g. `occupancy`."""
    left_out: tuple[str, ...] = ()
    """Terms that nobody counted: neither reward nor penalty, the others weigh more."""

    @model_validator(mode="after")
    def _the_total_is_the_clipped_sum(self) -> RewardComponents:
        if abs(clip_reward(sum(self.parts.values())) - self.total) > 1e-9:
            raise ValueError(f"parts {self.parts} do not add up to {self.total}")
        both = set(self.terms) & set(self.left_out)
        if both:
            raise ValueError(f"counted and left out at once: {sorted(both)}")
        return self
