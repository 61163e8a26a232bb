"""The before/after table as records: how often each model solved each task, and how fast it was.

A rate never comes without its interval, and a speedup never without the kind of its time; modelled and
measured times cannot meet in one report.
"""

from __future__ import annotations

from math import sqrt
from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from coding_framework.records import Record, TimeKind

ModelLabel = Literal["base", "sft", "rl", "model"]

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


class TaskResult(Record):
    """How one model did on one task."""

    task: str
    """Name of the task."""
    tier: int = Field(ge=0, le=3)
    """Its tier."""
    held_out: bool
    """Whether no training phase saw it."""
    samples: int = Field(ge=1)
    """Conversations sampled."""
    compiled: int = Field(ge=0)
    """How many of them gave a kernel that compiles."""
    passed: int = Field(ge=0)
    """How many of them gave a kernel that passes every check."""
    best_speedup: float | None = Field(default=None, gt=0)
    """Over the naive baseline, among those that passed."""
    median_speedup: float | None = Field(default=None, gt=0)
    """The same, median."""
    time_kind: TimeKind | None = None
    """What the speedups are made of."""

    @model_validator(mode="after")
    def _counts_and_speedups_agree(self) -> TaskResult:
        if not self.passed <= self.compiled <= self.samples:
            raise ValueError(f"{self.task}: passed <= compiled <= samples does not hold")
        given = {value is not None for value in (self.best_speedup, self.median_speedup, self.time_kind)}
        if given != {self.passed > 0}:
            raise ValueError(f"{self.task}: speedups and their kind are given if and only if one passed")
        if self.best_speedup and self.median_speedup and self.best_speedup < self.median_speedup:
            raise ValueError(f"{self.task}: the best speedup is below the median")
        return self

    @property
    def pass_rate(self) -> Interval:
        return wilson_interval(self.passed, self.samples)

    @property
    def compile_rate(self) -> Interval:
        return wilson_interval(self.compiled, self.samples)


class ModelResult(Record):
    """One column of the table."""

    label: ModelLabel
    """Which stage of training; `model` outside a training."""
    model: Path
    """The folder that was evaluated."""
    tasks: tuple[TaskResult, ...] = Field(min_length=1)
    """One for each task."""
    seconds: float = Field(ge=0)
    """Wall-clock time of the evaluation."""

    @model_validator(mode="after")
    def _one_result_for_each_task(self) -> ModelResult:
        names = [result.task for result in self.tasks]
        if len(names) != len(set(names)):
            raise ValueError(f"{self.label}: a task occurs twice in {names}")
        return self

    def task(self, name: str) -> TaskResult | None:
        return next((result for result in self.tasks if result.task == name), None)

    def pass_rate(self, *, held_out: bool | None = None) -> Interval | None:
        """Over all tasks, or only the (not) held-out ones; None if there are none of these."""
        chosen = [result for result in self.tasks if held_out in (None, result.held_out)]
        if not chosen:
            return None
        return wilson_interval(sum(r.passed for r in chosen), sum(r.samples for r in chosen))


class EvaluationReport(Record):
    """The whole table."""

    models: tuple[ModelResult, ...] = Field(min_length=1)
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
        return frozenset(r.time_kind for model in self.models for r in model.tasks if r.time_kind)

    def model(self, label: ModelLabel) -> ModelResult | None:
        return next((model for model in self.models if model.label == label), None)

    @property
    def rows(self) -> tuple[TaskResult, ...]:
        """The tasks of all models, each once, by tier and in order of first appearance."""
        first: dict[str, TaskResult] = {}
        for model in self.models:
            for result in model.tasks:
                first.setdefault(result.task, result)
        return tuple(sorted(first.values(), key=lambda result: result.tier))
