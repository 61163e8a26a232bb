"""Joins what verl logs with what the workers wrote down, one metric point a step."""

from __future__ import annotations

import time
from pathlib import Path

import structlog

from coding_framework.data.sources.book import find_task
from coding_framework.monitoring.run_state import MetricPoint
from coding_framework.records import Conversation
from coding_framework.training.rl.episode_runner import EpisodeFault
from coding_framework.training.rl.judge_counts import JudgeCounts, judge_values
from coding_framework.training.rl.overlong import overlong_values
from coding_framework.training.rl.step_reports import (
    LineTail,
    conversation_values,
    curriculum_values,
    parse_verl_line,
)
from coding_framework.training.rl.task_choice import CurriculumStep
from coding_framework.training.rl.time_split import activity_values, rest_of_step, speeds
from coding_framework.training.rl.turn_taking import ActivitySpan
from coding_framework.training.rl.worker_settings import WorkerSettings

log = structlog.stdlib.get_logger(__name__)


class StepWatcher:
    """Only what was written after its creation counts: an earlier start of the run is another story."""

    def __init__(self, step_metrics: Path, settings: WorkerSettings) -> None:
        self._overlong = settings.overlong
        self._metrics = LineTail(step_metrics)
        self._conversations = LineTail(settings.run_dir / "conversations.jsonl", from_end=True)
        self._faults = LineTail(settings.fault_file, from_end=True)
        self._activities = LineTail(settings.activity_file, from_end=True)
        self._judge = LineTail(settings.judge_file, from_end=True)
        self._open_counts: list[JudgeCounts] = []
        self._curriculum = LineTail(settings.curriculum_file, from_end=True)
        self._open_curriculum: list[CurriculumStep] = []
        self._open_conversations: list[Conversation] = []
        self._open_faults: list[EpisodeFault] = []
        self._open_spans: list[ActivitySpan] = []
        self._steps_before = settings.steps_before
        self._tasks = settings.known_tasks
        self._started = time.monotonic()
        self.fatal: EpisodeFault | None = None
        """The first fault that the run cannot survive."""

    def _tier_of(self, name: str) -> int:
        return find_task(self._tasks, name).tier

    def new_points(self) -> list[MetricPoint]:
        """Points of the steps that were finished since the last call."""
        self._read_faults()
        lines = self._metrics.new_lines()
        if lines:
            self._read_conversations()
        return [self._point(line) for line in lines]

    def _read_faults(self) -> None:
        for line in self._faults.new_lines():
            fault = EpisodeFault.model_validate_json(line)
            self._open_faults.append(fault)
            if fault.fatal and self.fatal is None:
                self.fatal = fault

    def _read_conversations(self) -> None:
        lines = self._conversations.new_lines()
        self._open_conversations += [Conversation.model_validate_json(line) for line in lines]
        spans = self._activities.new_lines()
        self._open_spans += [ActivitySpan.model_validate_json(line) for line in spans]
        steps = self._curriculum.new_lines()
        self._open_curriculum += [CurriculumStep.model_validate_json(line) for line in steps]

        self._open_counts += [JudgeCounts.model_validate_json(line) for line in self._judge.new_lines()]

    def _point(self, line: bytes) -> MetricPoint:
        own_step, values = parse_verl_line(line)
        step = self._steps_before + own_step
        conversations = [one for one in self._open_conversations if one.step == step]
        faults = [one for one in self._open_faults if one.step == step]
        spans = [one for one in self._open_spans if one.step == step]
        counts = [one for one in self._open_counts if one.step == step]
        curriculum = [one for one in self._open_curriculum if one.step == step]
        self._open_spans = [one for one in self._open_spans if one.step > step]
        self._open_counts = [one for one in self._open_counts if one.step > step]
        self._open_curriculum = [one for one in self._open_curriculum if one.step > step]
        for change in (change for one in curriculum for change in one.changes):
            log.info("curriculum_moved", step=step, **change.model_dump())
        self._open_conversations = [one for one in self._open_conversations if (one.step or 0) > step]
        self._open_faults = [one for one in self._open_faults if one.step > step]
        activities = activity_values(spans)
        values = (
            conversation_values(conversations, faults, self._tier_of)
            | overlong_values(conversations, self._overlong)
            | activities
            | judge_values(counts, activities.get("judging_s"))
            | curriculum_values(curriculum)
            | values
        )
        return MetricPoint(
            phase="rl",
            step=step,
            values=values | rest_of_step(values) | speeds(values),
            elapsed_s=time.monotonic() - self._started,
        )
