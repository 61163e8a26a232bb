"""What the smaller commands answer with `--json`."""

from __future__ import annotations

from pathlib import Path

from coding_framework.agents.models.store import ModelInfo
from coding_framework.cuda.lint import TaskLint
from coding_framework.monitoring.figure_records import ModelFigures
from coding_framework.records import Record, Task


class Catalogue(Record):
    """All tasks in one record."""

    tasks: tuple[Task, ...]
    """In the order of the tiers."""


class CatalogueLint(Record):
    """The lint of several tasks in one record."""

    tasks: tuple[TaskLint, ...]
    """In the order in which they were asked for."""


class Models(Record):
    """All embedded models in one record."""

    models: tuple[ModelInfo, ...]
    """As `cuda-rl models list` shows them."""


class Fetched(Record):
    """Where a model is."""

    name: str
    """As it was asked for."""
    path: Path
    """Its folder."""


class Evaluated(Record):
    """What one model can do, and where every sample is."""

    folder: Path
    """With `evaluation.json`, `samples.jsonl` and `conversations.jsonl`."""
    figures: ModelFigures
    """All figures."""


class Written(Record):
    """Where a report is."""

    report: Path
    """The HTML file."""
