"""The figures of an evaluation as records."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field, model_validator

from coding_framework.monitoring.evaluation_folder import EvaluatedTask, EvaluationSettings, LeftOut
from coding_framework.monitoring.intervals import Estimate
from coding_framework.records import Record, TaskSplit, TimeKind

SPLIT_NAMES: dict[TaskSplit, str] = {"held_out": "held out", "trained": "trained on", "suite": "suite"}


class TurnFigures(Record):
    """What the kernels of one turn of each sample are worth."""

    compile_rate: Estimate
    """Share of samples whose kernel compiles."""
    pass_at: dict[int, Estimate]
    """pass@k by k: the chance that one of k samples passes every check."""
    fast: dict[float, Estimate]
    """fast_p by p: share of samples that pass and are more than p times as fast as the reference."""
    geometric_mean_speedup: Estimate | None
    """Over the reference, among those that passed; None if none did."""


class GroupFigures(Record):
    """Figures of one group of tasks."""

    split: TaskSplit
    """Which tasks."""
    tier: int | None
    """Only those of this tier; None: of all."""
    tasks: int = Field(ge=1)
    """How many tasks."""
    samples: int = Field(ge=1)
    """How many samples of them."""
    best: TurnFigures
    """Of the best turn of each sample: its fastest kernel that passed."""
    first: TurnFigures | None
    """Of the first turn; None where there is no other."""
    hidden_failures: Estimate | None
    """Of the kernels of all turns that are right on the visible shapes: share that fails on a hidden one."""
    refused_hacks: Estimate
    """Share of samples with a kernel, in whatever turn, that was refused for what no honest kernel needs."""


class TaskFigures(Record):
    """One task."""

    task: EvaluatedTask
    """Which."""
    samples: int = Field(ge=1)
    """How many."""
    compiled: int = Field(ge=0)
    """How many gave a kernel that compiles."""
    passed: int = Field(ge=0)
    """How many gave one that passes."""
    passed_first: int = Field(ge=0)
    """How many in their first turn."""
    pass_rate: Estimate
    """Share that passed."""
    median_speedup: float | None = Field(default=None, gt=0)
    """Among those that passed."""
    best_speedup: float | None = Field(default=None, gt=0)
    """The same, largest."""

    @property
    def name(self) -> str:
        return self.task.name


class ModelFigures(Record):
    """All figures of one model."""

    label: str
    """As in the evaluation."""
    model: str
    """The folder that was evaluated."""
    weights: str
    """Digest of its files."""
    samples_per_task: int = Field(ge=1)
    """Asked for."""
    settings: EvaluationSettings
    """How it was evaluated."""
    time_kind: TimeKind | None
    """What the speedups are made of; None if nothing passed."""
    device: str | None
    """The card of the times."""
    groups: tuple[GroupFigures, ...] = Field(min_length=1)
    """Of each split first all tasks, then tier by tier."""
    tasks: tuple[TaskFigures, ...] = Field(min_length=1)
    """By split and tier."""
    left_out: tuple[LeftOut, ...] = ()
    """Problems that were named and not asked."""

    def group(self, split: TaskSplit, tier: int | None = None) -> GroupFigures | None:
        return next((one for one in self.groups if (one.split, one.tier) == (split, tier)), None)

    def task(self, name: str) -> TaskFigures | None:
        return next((one for one in self.tasks if one.name == name), None)


class EvaluationReport(Record):
    """The figures of the models of one run, side by side."""

    models: tuple[ModelFigures, ...] = Field(min_length=1)
    """In the order of training."""

    @model_validator(mode="after")
    def _columns_can_be_compared(self) -> EvaluationReport:
        labels = [model.label for model in self.models]
        if len(labels) != len(set(labels)):
            raise ValueError(f"a model occurs twice in {labels}")
        if len(self.time_kinds) > 1:
            raise ValueError("modelled and measured times cannot be compared in one report")
        return self

    @property
    def time_kinds(self) -> frozenset[TimeKind]:
        return frozenset(model.time_kind for model in self.models if model.time_kind)


def splits_of(models: Sequence[ModelFigures]) -> tuple[TaskSplit, ...]:
    """Those that occur, held-out tasks first."""
    return tuple(split for split in SPLIT_NAMES if any(model.group(split) for model in models))


def tiers_of(models: Sequence[ModelFigures], split: TaskSplit) -> tuple[int, ...]:
    """Those that occur among the tasks of a split."""
    tiers = {group.tier for model in models for group in model.groups if group.split == split}
    return tuple(sorted(tier for tier in tiers if tier is not None))


def tasks_of(models: Sequence[ModelFigures], split: TaskSplit) -> tuple[EvaluatedTask, ...]:
    """The tasks of all models, each once, by tier."""
    found = {one.name: one.task for model in models for one in model.tasks if one.task.split == split}
    return tuple(sorted(found.values(), key=lambda task: task.tier))
