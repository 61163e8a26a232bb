"""The curriculum's memory as a record: what goes into a checkpoint, and comes back bit for bit.

Randomness needs no hidden generator: draw number i uses a generator seeded by (seed, i), so the two
numbers in the record are its whole state.
"""

from __future__ import annotations

from pydantic import Field, model_validator

from coding_framework.config import CurriculumConfig
from coding_framework.data.curriculum.history import PerformanceHistory
from coding_framework.data.curriculum.outcome import Episode, EpisodeOutcome
from coding_framework.records import Record


class TierState(Record):
    """One tier's memory."""

    name: str
    """Which tier."""
    episodes: int = Field(default=0, ge=0)
    """Recorded since it was last entered."""
    window: tuple[Episode, ...] = ()
    """The latest of them: of the current stay, or of the reviews since it was left."""
    proven: bool = False
    """Whether it was surely above the demotion threshold since it was last entered."""
    graduated_success_rate: float | None = Field(default=None, ge=0, le=1)
    """The success rate with which it was last left upwards."""


class CurriculumState(Record):
    """Everything that `CurriculumManager.from_state` needs."""

    config: CurriculumConfig
    """Settings."""
    tasks: tuple[str, ...] = Field(min_length=1)
    """Names of the tasks that may be drawn."""
    seed: int
    """Of the draws."""
    draws: int = Field(default=0, ge=0)
    """Tasks drawn so far."""
    episodes: int = Field(default=0, ge=0)
    """Episodes recorded so far."""
    faults: int = Field(default=0, ge=0)
    """Episodes lost through faults of the judge; they are counted here and nowhere else."""
    current: int = Field(default=0, ge=0)
    """Index of the tier that is practised."""
    tiers: tuple[TierState, ...] = Field(min_length=1)
    """The easiest first; tiers without tasks are not here."""
    task_outcomes: dict[str, tuple[EpisodeOutcome, ...]] = Field(default_factory=dict)
    """Latest outcomes of each task that was tried."""
    history: PerformanceHistory = PerformanceHistory()
    """For plots."""

    @model_validator(mode="after")
    def _the_current_tier_is_one_of_them(self) -> CurriculumState:
        if self.current >= len(self.tiers):
            raise ValueError(f"tier {self.current} of {len(self.tiers)} does not exist")
        return self
