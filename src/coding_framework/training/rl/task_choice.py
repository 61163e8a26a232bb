"""What each step of RL is played on: asked of the data pipeline, and told to it how it went.

Lives in the trainer's process. Guaranteed: results are taken in once a step, in the order of the
episodes' names, so that which of them ended first does not matter; with the state that a checkpoint holds a
resumed run draws the same tasks and moves between tiers at the same steps. Where episodes go on from
openings, only tasks that have one are drawn, and the openings of a task take turns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean

from pydantic import Field

from coding_framework.data.curriculum.history import TierChange
from coding_framework.data.curriculum.outcome import EpisodeOutcome
from coding_framework.data.curriculum_manager import CurriculumManager
from coding_framework.data.data_pipeline import CUDADataPipeline, DataPipelineState, TrainingExample
from coding_framework.data.sources.book import find_task
from coding_framework.errors import TrainingError
from coding_framework.monitoring.storage import append_line, write_whole
from coding_framework.records import Record
from coding_framework.training.rl.openings import chosen, read_openings
from coding_framework.training.rl.prompts_file import num_prompts
from coding_framework.training.rl.worker_settings import WorkerSettings

_FILE = "data_pipeline.json"


class EpisodeReport(Record):
    """What the trainer is told of an episode."""

    task: str
    """Name of the task."""
    outcome: EpisodeOutcome | None
    """What it came to; None where it was lost to faults of the judge."""


class CurriculumStep(Record):
    """What the curriculum did in one step."""

    step: int = Field(ge=1)
    """Training step."""
    tier: str
    """Name of the tier that was practised."""
    tier_index: int = Field(ge=0)
    """Its place, the easiest first."""
    tasks: tuple[str, ...] = Field(min_length=1)
    """What was drawn, in order; DAPO's further draws with it."""
    learnability: float = Field(gt=0, le=1)
    """Mean over them of what was expected to be learnt."""
    pass_rates: dict[str, float]
    """Share of the step's episodes that passed, by tier."""
    changes: tuple[TierChange, ...]
    """Moves to another tier that followed."""
    missing: tuple[str, ...]
    """What stands in the way of the next tier after this step, in words; nothing at the end of the last."""


@dataclass
class TaskChoice:
    """The pipeline of one policy, between two checkpoints."""

    settings: WorkerSettings
    pipeline: CUDADataPipeline
    openings: Mapping[str, Sequence[int]]
    """Visits of each task that its episodes go on from, if they go on from any."""
    _drawn: list[TrainingExample] = field(default_factory=list)
    """Since results were last told."""

    @classmethod
    def from_settings(cls, settings: WorkerSettings, state: DataPipelineState | None = None) -> TaskChoice:
        """At the beginning of a training, or where `state` was taken."""
        openings = _by_task(settings) if settings.agent == "optimizer" else {}
        names = [name for name in settings.tasks if name in openings] if openings else settings.tasks
        pipeline = CUDADataPipeline(
            [find_task(settings.known_tasks, name) for name in names],
            seed=settings.seed,
            curriculum=settings.curriculum,
            state=state,
        )
        return cls(settings, pipeline, openings)

    @classmethod
    def read(cls, settings: WorkerSettings, checkpoint: Path) -> TaskChoice:
        """As it was when this checkpoint was written."""
        path = checkpoint / _FILE
        if not path.is_file():
            raise TrainingError(f"{path} is missing: which tasks come after this step is not known")
        return cls.from_settings(settings, DataPipelineState.model_validate_json(path.read_bytes()))

    def write(self, checkpoint: Path) -> None:
        checkpoint.mkdir(parents=True, exist_ok=True)
        write_whole(checkpoint / _FILE, self.pipeline.state.model_dump_json())

    def next_rows(self, count: int) -> list[dict[str, object]]:
        """Of the next prompts: what the episode driver is told of each."""
        examples = self.pipeline.get_training_batch(count)
        self._drawn += examples
        return [{"task": one.task.name} | self._opening(one) for one in examples]

    def _opening(self, example: TrainingExample) -> dict[str, object]:
        visits = self.openings.get(example.task.name)
        return {"opening": visits[example.visit % len(visits)]} if visits else {}

    def record(self, step: int, reports: Sequence[EpisodeReport]) -> CurriculumStep | None:
        """Tell how the step's episodes went, and write down what the curriculum made of it."""
        curriculum, drawn = self.pipeline.curriculum, self._drawn
        self._drawn = []
        tier = curriculum.tier if curriculum is not None else None
        changes = [change for report in reports if (change := self._tell(report, step)) is not None]
        if curriculum is None or tier is None:
            return None
        made = CurriculumStep(
            step=step,
            tier=tier.name,
            tier_index=curriculum.tiers.index(tier),
            tasks=tuple(one.task.name for one in drawn),
            learnability=fmean(one.learnability for one in drawn if one.learnability is not None),
            pass_rates=_pass_rates(curriculum, reports),
            changes=tuple(changes),
            missing=curriculum.missing(),
        )
        append_line(self.settings.curriculum_file, made.model_dump_json())
        return made

    def _tell(self, report: EpisodeReport, step: int) -> TierChange | None:
        if report.outcome is None:
            self.pipeline.record_fault(report.task)
            return None
        return self.pipeline.record_training_result(report.task, report.outcome, step=step)


def _by_task(settings: WorkerSettings) -> dict[str, list[int]]:
    """The openings that are used, by task."""
    found: dict[str, list[int]] = {}
    for one in chosen(read_openings(settings.openings_file), num_prompts(settings.rl)):
        found.setdefault(one.task, []).append(one.visit)
    return found


def _pass_rates(curriculum: CurriculumManager, reports: Iterable[EpisodeReport]) -> dict[str, float]:
    passed: dict[str, list[bool]] = {}
    for report in reports:
        if report.outcome is not None:
            passed.setdefault(curriculum.tier_of(report.task).name, []).append(report.outcome.passed)
    return {tier: fmean(outcomes) for tier, outcomes in passed.items()}
