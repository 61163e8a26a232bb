"""One folder per training: what was asked, what happened, what came out.

    <run>/config.json           the resolved configuration
    <run>/state.json            finished phases with their results, for `--resume`
    <run>/metrics.jsonl         one `MetricPoint` a line
    <run>/conversations.jsonl   one `Conversation` a line
    <run>/evaluation/MODEL/     samples of the evaluation (`evaluation_folder.py`)
    <run>/checkpoints/  models/  logs/training.log  report.html

Guaranteed: what a finished append or `mark_done` wrote is readable after kill -9; two trainings never
share a folder on one machine, and the lock of a dead one does not stand in the way. Not guaranteed:
locking between machines on file systems without `flock`.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout
from pydantic import ValidationError

from coding_framework.errors import ConfigError, StorageError, UserError
from coding_framework.monitoring.log_link import follow_log, unfollow_log
from coding_framework.monitoring.run_state import FinishedPhase, MetricPoint, RunState
from coding_framework.monitoring.storage import R, RecordReader, append_line, storage_errors, write_whole
from coding_framework.records import Conversation, Record

_FOLDERS = ("checkpoints", "models", "logs")


@dataclass(frozen=True)
class RunFolder:
    """A path and nothing else: cheap to send to other processes, which may append as well."""

    path: Path

    @classmethod
    def create(cls, root: Path, name: str | None, config_json: str, *, label: str | None = None) -> RunFolder:
        """A new folder under `root`, called `name` or after the time and `label`; `-2`, … if taken.

        `logs/training.log` under the working directory follows it from now on.
        """
        run = cls(_claim(root, _checked(name) if name is not None else run_name(label)))
        try:
            with storage_errors(run.path):
                for folder in _FOLDERS:
                    (run.path / folder).mkdir()
                run.log_file.touch()
            write_whole(run.path / "config.json", config_json)
            write_whole(run.path / "state.json", RunState().model_dump_json(indent=2))
        except StorageError:
            shutil.rmtree(run.path, ignore_errors=True)
            raise
        follow_log(run.log_file)
        return run

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """An existing run, to resume it or to read it."""
        if not (path / "config.json").is_file() or not (path / "state.json").is_file():
            raise UserError(f"{path} is not a run folder: it has no config.json and state.json")
        return cls(path.resolve())

    @classmethod
    def latest(cls, root: Path) -> RunFolder:
        """The run under `root` that was created last."""
        runs = [cls(state.parent.resolve()) for state in root.glob("*/state.json")]
        created = {run: state.created_at for run in runs if (state := run.state_if_whole())}
        if not created:
            raise UserError(f"there is no run under {root} yet: start one with `cuda-rl train`")
        return max(created, key=created.__getitem__)

    @property
    def config_json(self) -> str:
        with storage_errors(self.path / "config.json", "read"):
            return (self.path / "config.json").read_text(encoding="utf-8")

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def models(self) -> Path:
        return self.path / "models"

    @property
    def conversations_file(self) -> Path:
        return self.path / "conversations.jsonl"

    @property
    def evaluations(self) -> Path:
        return self.path / "evaluation"

    @property
    def log_file(self) -> Path:
        return self.path / "logs" / "training.log"

    @property
    def report_file(self) -> Path:
        return self.path / "report.html"

    def discard(self) -> None:
        """Removes the folder, and the link to its log: nothing in it is worth keeping."""
        with storage_errors(self.path, "remove"):
            shutil.rmtree(self.path)
        unfollow_log(self.log_file)

    def append_metric(self, point: MetricPoint) -> None:
        append_line(self.path / "metrics.jsonl", point.model_dump_json(), synced=True)

    def append_conversation(self, conversation: Conversation) -> None:
        append_line(self.conversations_file, conversation.model_dump_json())

    def read_metrics(self) -> RecordReader[MetricPoint]:
        return RecordReader(self.path / "metrics.jsonl", MetricPoint)

    def read_conversations(self) -> RecordReader[Conversation]:
        return RecordReader(self.conversations_file, Conversation)

    def state(self) -> RunState:
        path = self.path / "state.json"
        try:
            with storage_errors(path, "read"):
                return RunState.model_validate_json(path.read_bytes())
        except ValidationError as error:
            raise StorageError(f"{path} is damaged and this run cannot be resumed: {error}") from error

    def state_if_whole(self) -> RunState | None:
        """None where `state.json` is damaged, so that one bad folder does not hide the others."""
        try:
            return self.state()
        except StorageError:
            return None

    def mark_done(self, phase: str, record: Record, *, seconds: float | None = None) -> None:
        """Remembers that `phase` need not be done again, and what it gave. For the lock's holder.

        What it made is to be synced before: this is.
        """
        finished = FinishedPhase(
            name=phase,
            finished_at=datetime.now(UTC),
            seconds=seconds,
            result_type=type(record).__name__,
            result=json.loads(record.model_dump_json()),
        )
        write_whole(self.path / "state.json", self.state().with_phase(finished).model_dump_json(indent=2))

    def forget_phases(self, *names: str) -> None:
        """These phases are to be done again: what they were built on has changed. For the lock's holder."""
        state = self.state()
        if any(state.phase(name) for name in names):
            write_whole(self.path / "state.json", state.without_phases(names).model_dump_json(indent=2))

    def phase_result(self, phase: str, record_type: type[R]) -> R | None:
        """What a finished phase gave; None while it is unfinished."""
        finished = self.state().phase(phase)
        return finished.result_as(record_type) if finished else None

    @contextmanager
    def training_lock(self) -> Iterator[None]:
        """Held while training in this folder; a second training is refused with the first one's pid."""
        lock = FileLock(self.path / "training.lock", thread_local=False)
        owner = self.path / "training.pid"
        with storage_errors(self.path / "training.lock"):
            try:
                lock.acquire(blocking=False)
            except Timeout:
                pid = owner.read_text(encoding="utf-8").strip() if owner.is_file() else "unknown"
                raise UserError(f"{self.path} is in use by another training (process {pid})") from None
        try:
            write_whole(owner, f"{os.getpid()}\n")
            follow_log(self.log_file)
            yield
        finally:
            owner.unlink(missing_ok=True)
            lock.release()


def run_name(label: str | None) -> str:
    """After the time and `label`."""
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    return f"{stamp}-{_checked(label)}" if label else stamp


def _checked(name: str) -> str:
    if not name or name.startswith(".") or any(not (c.isalnum() or c in "-_.") for c in name):
        raise ConfigError(f"'{name}' cannot name a run: use letters, digits, '-', '_' and '.'")
    return name


def _claim(root: Path, name: str) -> Path:
    """Makes the folder; `mkdir` is the referee between two runs that start in the same second."""
    number = 1
    while True:
        path = root / (name if number == 1 else f"{name}-{number}")
        try:
            with storage_errors(path, "create"):
                root.mkdir(parents=True, exist_ok=True)
                path.mkdir()
            return path.resolve()
        except StorageError as error:
            if not (isinstance(error.__cause__, FileExistsError) and path.exists()):
                raise
        number += 1
