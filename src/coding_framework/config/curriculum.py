"""The curriculum's tiers and windows: both presets, or tiers of one's own.

A gate that no window could ever prove is refused here, before any work is done.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from coding_framework.records.base import Record

_Z_SQUARED = 1.959963984540054**2
"""Of the 95 % interval with which rates are judged."""


class CurriculumTier(Record):
    """One rung: what is practised on it, and what must be proven to leave it upwards."""

    name: str
    """For people and plots."""
    catalogue_tiers: tuple[int, ...] = Field(min_length=1)
    """Tiers of the task catalogue (0 to 3) whose tasks it holds."""
    min_compile_rate: float = Field(ge=0, lt=1)
    """The lower end of the interval of the compile rate must be above this."""
    min_success_rate: float = Field(ge=0, lt=1)
    """The same for the rate of episodes that pass every check."""
    min_speedup: float | None = Field(default=None, gt=0)
    """The same for the median speedup of those that pass; None asks for no speed."""
    min_episodes: int = Field(default=100, ge=1)
    """Episodes on this rung before it may be left upwards."""


def _tier(name: str, tiers: tuple[int, ...], *gates: float | None, episodes: int) -> CurriculumTier:
    compile_rate, success_rate, speedup = gates
    assert compile_rate is not None
    assert success_rate is not None
    return CurriculumTier(
        name=name,
        catalogue_tiers=tiers,
        min_compile_rate=compile_rate,
        min_success_rate=success_rate,
        min_speedup=speedup,
        min_episodes=episodes,
    )


THREE_TIERS = (
    _tier("easy", (0,), 0.80, 0.60, 1.2, episodes=100),
    _tier("medium", (1,), 0.75, 0.50, 1.8, episodes=200),
    _tier("hard", (2, 3), 0.70, 0.40, 2.5, episodes=300),
)
FOUR_TIERS = tuple(_tier(f"tier {n}", (n,), 0.90, 0.75, None, episodes=100) for n in range(4))

CurriculumPreset = Literal["three_tiers", "four_tiers"]
_PRESETS: dict[CurriculumPreset, tuple[CurriculumTier, ...]] = {
    "three_tiers": THREE_TIERS,
    "four_tiers": FOUR_TIERS,
}


class CurriculumConfig(Record):
    """Which tasks RL practises when."""

    enabled: bool = True
    """Whether tiers and learnability choose the tasks; false: each pass over `tasks.train` has every task
    once, shuffled by the seed."""
    preset: CurriculumPreset = "four_tiers"
    """`three_tiers`: easy, medium, hard, with speed; `four_tiers`: the catalogue's, right before fast."""
    tiers: tuple[CurriculumTier, ...] = ()
    """Tiers of one's own instead of the preset's, the easiest first."""
    window: int = Field(default=200, ge=10)
    """Latest episodes of a tier that are judged for moving up."""
    demotion_window: int = Field(default=50, ge=10)
    """Latest episodes of a tier that are judged for moving down."""
    demotion_share: float = Field(default=0.6, gt=0, lt=1)
    """A rate has regressed when the upper end of its interval is below this share of the gate; the gap
    to the gate is the hysteresis that keeps a tier from flapping."""
    review_share: float = Field(default=0.2, ge=0, lt=1)
    """Share of draws from tiers already left, against forgetting; those that slipped come more often."""
    task_window: int = Field(default=32, ge=4)
    """Latest episodes of a task behind its success rate."""
    prior_episodes: float = Field(default=2.0, gt=0)
    """Weight of the belief that a new task succeeds half of the time, which makes it worth a try."""
    least_weight: float = Field(default=0.1, gt=0, le=1)
    """Weight of a task that is always or never solved, beside 1 for one solved half of the time."""
    count_tasks_equally: bool = True
    """In rates of a tier every task counts the same, however often it was drawn; else every episode."""
    history_every: int = Field(default=10, ge=1)
    """Episodes between two points of the history."""

    @property
    def resolved_tiers(self) -> tuple[CurriculumTier, ...]:
        """One's own tiers, else the preset's."""
        return self.tiers or _PRESETS[self.preset]

    @model_validator(mode="after")
    def _no_catalogue_tier_twice(self) -> CurriculumConfig:
        held = [number for tier in self.resolved_tiers for number in tier.catalogue_tiers]
        names = [tier.name for tier in self.resolved_tiers]
        if len(held) != len(set(held)) or len(names) != len(set(names)):
            raise ValueError(f"a name or a tier of the catalogue occurs twice: {names} hold {held}")
        return self

    @model_validator(mode="after")
    def _every_gate_can_be_passed(self) -> CurriculumConfig:
        best = self.window / (self.window + _Z_SQUARED)
        for tier in self.resolved_tiers:
            if max(tier.min_compile_rate, tier.min_success_rate) >= best:
                raise ValueError(
                    f"curriculum.window={self.window} is too short for tier '{tier.name}': without one "
                    f"failure the lower end of a rate is {best:.3f}, which must be above its gates"
                )
        return self
