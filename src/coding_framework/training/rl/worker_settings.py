"""What the processes that Ray starts need to know, as one JSON file.

Everything crosses as data: no object of the launcher is pickled into a worker, so a worker of another
machine that sees the run folder works the same way.
"""

from __future__ import annotations

import os
from pathlib import Path

from pydantic import Field

from coding_framework.config import (
    ConversationConfig,
    CurriculumConfig,
    JudgeConfig,
    RewardConfig,
    RLConfig,
    TasksConfig,
)
from coding_framework.errors import TrainingError
from coding_framework.monitoring.storage import write_whole
from coding_framework.plugins import extend_search_path, search_path
from coding_framework.records import AgentRole, JudgePlace, Record
from coding_framework.training.rl.names import WORKER_SETTINGS_ENV
from coding_framework.training.rl.overlong import OverlongShaping


class WorkerSettings(Record):
    """The episode side of one RL phase."""

    run_dir: Path
    """The run folder; conversations are appended there."""
    conversation: ConversationConfig
    """Shape of an episode."""
    reward: RewardConfig
    """How it is rewarded."""
    reward_behaviour: str | None = None
    """How a reward of a user's own scores the recorded evaluations (`trial.behaviour`)."""
    module_folders: tuple[str, ...] = Field(default_factory=search_path)
    """Where the launcher finds modules; its workers look there as well, for what is a user's own."""
    judge: JudgeConfig
    """How it is judged."""
    known_tasks: TasksConfig = TasksConfig()
    """On what; tasks of other sources than the catalogue are those in its `kept` file."""
    rl: RLConfig = RLConfig()
    """How it is trained on."""
    overlong: OverlongShaping | None = None
    """What long answers lose."""
    tasks: tuple[str, ...] = ()
    """What may be trained on, nothing that is held out."""
    curriculum: CurriculumConfig = CurriculumConfig()
    """What of it comes when."""
    seed: int = 17
    """Of the order of tasks."""
    judged_on: JudgePlace = "no_card"
    """Where its kernels are timed."""
    agent: AgentRole | None = None
    """Whose policy is trained; None: one that all agents share."""
    steps_before: int = Field(default=0, ge=0)
    """Steps of the policies before it: its own are counted on from there."""

    @property
    def rl_dir(self) -> Path:
        """Files of the RL phase alone."""
        return self.run_dir / "rl" / (self.agent or "")

    @property
    def openings_file(self) -> Path:
        """One `Opening` a line."""
        return self.rl_dir / "openings.jsonl"

    @property
    def fault_file(self) -> Path:
        """One `EpisodeFault` a line."""
        return self.rl_dir / "faults.jsonl"

    @property
    def activity_file(self) -> Path:
        """One `ActivitySpan` a line."""
        return self.rl_dir / "activity.jsonl"

    @property
    def judge_file(self) -> Path:
        """One `JudgeCounts` a line."""
        return self.rl_dir / "judge.jsonl"

    @property
    def curriculum_file(self) -> Path:
        """One `CurriculumStep` a line."""
        return self.rl_dir / "curriculum.jsonl"

    @property
    def steps_file(self) -> Path:
        """One `MetricPoint` a line: the steps that were reported."""
        return self.rl_dir / "steps.jsonl"

    @property
    def stop_file(self) -> Path:
        """When it exists, training ends after the current step."""
        return self.rl_dir / "stop"

    @property
    def lost_file(self) -> Path:
        """When it exists, a process that the run needs has died; it says which."""
        return self.rl_dir / "lost.txt"

    def write(self) -> Path:
        self.rl_dir.mkdir(parents=True, exist_ok=True)
        path = self.rl_dir / "worker.json"
        write_whole(path, self.model_dump_json(indent=2))
        return path

    @classmethod
    def from_environment(cls) -> WorkerSettings:
        """In a process that Ray started; it then finds the modules that the launcher finds."""
        path = os.environ.get(WORKER_SETTINGS_ENV)
        if path is None:
            raise TrainingError(
                f"{WORKER_SETTINGS_ENV} is not set: RL workers are started by the launcher only"
            )
        settings = cls.model_validate_json(Path(path).read_bytes())
        extend_search_path(settings.module_folders)
        return settings


_CALLS_BESIDES = 100
"""New weights, versions, health."""


def concurrent_calls() -> int:
    """That a server of answers must admit at once: those of a step may have to wait for each other."""
    return WorkerSettings.from_environment().rl.episodes_per_step + _CALLS_BESIDES
