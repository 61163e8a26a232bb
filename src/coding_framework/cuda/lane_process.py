"""A lane in a process of its own: what judges do in Python then runs on every core.

A judgement costs the judge's own process some 55 ms of CPU (drawing inputs, the float64 oracle,
comparing); as threads of one interpreter, many lanes would wait for each other. A lane's process
ends with its parent, and the compiler and the executor that it started end with it.

Guarantees: an error of ours arrives as what it was in the lane, and what is logged there is logged by the
asker. Of what is said with a process's first answer the same words are logged once, because every lane
finds the same when it starts. A task travels by pickle, its oracle
by name, so an oracle must live in this package; other tasks are judged in the asking process.
"""

from __future__ import annotations

import atexit
import pickle
from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Any

import structlog
from structlog.testing import capture_logs

from coding_framework import errors
from coding_framework.config import JudgeConfig
from coding_framework.cuda.lanes import JudgeLane, LaneAnswer
from coding_framework.cuda.worker import Worker
from coding_framework.cuda.worker_main import PACKAGE
from coding_framework.errors import FrameworkError, JudgeFault
from coding_framework.records import Candidate, ModuleTask, Task

_START_ALLOWANCE_S = 120.0
_log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class LaneFailure:
    """An error of ours on its way to the asker: its class in `errors.py`, and its words."""

    kind: str
    message: str

    @classmethod
    def of(cls, error: FrameworkError) -> LaneFailure:
        return cls(type(error).__name__, str(error))

    def rebuilt(self) -> FrameworkError:
        """The error as it was raised; a class that is not in the tree counts as the judge's fault."""
        kind = getattr(errors, self.kind, JudgeFault)
        error: FrameworkError = kind.__new__(kind)
        error.args = (self.message,)
        return error


@dataclass(frozen=True)
class LaneReply:
    """What comes back from a lane's process."""

    answer: LaneAnswer | LaneFailure
    said: list[MutableMapping[str, Any]]
    """Events that were logged meanwhile; a worker's own output goes nowhere."""
    is_first: bool
    """Whether the process's judge was made for this question."""


class ProcessLane:
    """A `JudgeLane` in a worker process; the process starts with the first question."""

    def __init__(self, config: JudgeConfig, *, name: str = "lane", heard: set[str] | None = None) -> None:
        """`heard` is what other lanes said when they started."""
        self._config = config
        self._heard = heard if heard is not None else set()
        self._worker = Worker(memory_limit_bytes=None, name=name)  # its own children have the limits
        self._limit_s = 10 * (config.compile_timeout_s + config.total_timeout_s) + _START_ALLOWANCE_S
        self._here: JudgeLane | None = None

    def judge(self, task: Task | ModuleTask, candidate: Candidate, known: frozenset[str]) -> LaneAnswer:
        """Ask the process; raises what was raised there."""
        if not travels(task):
            self._here = self._here or JudgeLane(self._config)
            return self._here.judge(task, candidate, known)
        question = (self._config, task, candidate, known)
        reply: LaneReply = self._worker.call(_ANSWER, *question, timeout_s=self._limit_s)
        self._repeat(reply)
        if isinstance(reply.answer, LaneFailure):
            raise reply.answer.rebuilt()
        return reply.answer

    def _repeat(self, reply: LaneReply) -> None:
        for event in reply.said:
            words = repr(event)
            if reply.is_first and words in self._heard:
                continue
            if reply.is_first:
                self._heard.add(words)
            fields = {key: value for key, value in event.items() if key not in ("event", "log_level")}
            getattr(_log, event["log_level"])(event["event"], **fields)

    def close(self) -> None:
        """End the process and all that it started."""
        self._worker.close()
        if self._here is not None:
            self._here.close()


def travels(task: Task | ModuleTask) -> bool:
    """Whether another process of ours can read this task."""
    if isinstance(task, ModuleTask):
        return True  # text
    oracle = task.oracle
    home = getattr(oracle, "__module__", None) or type(oracle).__module__
    if home.partition(".")[0] != PACKAGE:
        return False
    try:
        pickle.dumps(oracle)
    except Exception:  # a lambda or a closure: each kind of callable has its own way to refuse
        return False
    return True


_ANSWER = f"{__name__}:answer"
_lanes: dict[str, JudgeLane] = {}


def answer(
    config: JudgeConfig, task: Task | ModuleTask, candidate: Candidate, known: frozenset[str]
) -> LaneReply:
    """In the lane's process: judge with the one judge that lives here."""
    is_first = not _lanes
    with capture_logs() as said:
        try:
            return LaneReply(_lane(config).judge(task, candidate, known), said, is_first)
        except FrameworkError as error:
            return LaneReply(LaneFailure.of(error), said, is_first)


def _lane(config: JudgeConfig) -> JudgeLane:
    key = config.model_dump_json()
    if key not in _lanes:
        _lanes[key] = JudgeLane(config)
        atexit.register(_lanes[key].close)
    return _lanes[key]
