"""What a comparison of models says."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from coding_framework.monitoring.evaluation_folder import EvaluatedTask
from coding_framework.monitoring.figure_records import ModelFigures
from coding_framework.monitoring.figure_rows import Unit
from coding_framework.monitoring.intervals import Estimate
from coding_framework.records import Record, TaskSplit


class ComparedModel(Record):
    """One column."""

    name: str
    """Unique in the comparison."""
    folder: Path
    """Where its samples are."""
    figures: ModelFigures
    """Its own figures."""


class TaskDifference(Record):
    """One task, before and after."""

    task: EvaluatedTask
    """Which."""
    before: Estimate
    """Share of samples that passed."""
    after: Estimate
    """The same of the other model."""
    difference: Estimate
    """`after` less `before`."""


class Difference(Record):
    """One figure of two models over the tasks that they share."""

    split: TaskSplit
    """Of which tasks."""
    figure: str
    """Which."""
    unit: Unit
    """A share's difference is a difference, a speedup's a factor."""
    tasks: int = Field(ge=1)
    """How many are paired."""
    before: float
    """Mean over these tasks."""
    after: float
    """The same of the other model."""
    difference: Estimate
    """Paired by task."""
    better: int = Field(ge=0)
    """Tasks on which the other model does better."""
    worse: int = Field(ge=0)
    """Tasks on which it does worse."""
    p_value: float = Field(ge=0, le=1)
    """Of the sign test over these tasks."""

    @property
    def is_clear(self) -> bool:
        """Whether there is a difference, with 95 % confidence."""
        none = 1.0 if self.unit == "times" else 0.0
        if self.difference.method == "none":
            return self.difference.value != none and self.p_value < 0.05
        return self.difference.low > none or self.difference.high < none


class Pair(Record):
    """Two models."""

    before: str
    """Name of the one that is compared with."""
    after: str
    """Name of the other."""
    notes: tuple[str, ...]
    """What could not be compared, and what to know."""
    differences: tuple[Difference, ...]
    """By split; none where nothing can be compared."""
    tasks: tuple[TaskDifference, ...]
    """Every task that is paired."""


class Comparison(Record):
    """All models, and the pairs among them."""

    models: tuple[ComparedModel, ...] = Field(min_length=2)
    """In the order in which they were named."""
    pairs: tuple[Pair, ...] = Field(min_length=1)
    """Each with the first, and each with the one before it."""
    notes: tuple[str, ...] = ()
    """Evaluations that were left out."""
