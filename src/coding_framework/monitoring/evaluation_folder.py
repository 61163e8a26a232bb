"""The evaluation of one model in one folder: what was asked, and every sample that was taken.

    <folder>/evaluation.json      model, settings and tasks
    <folder>/samples.jsonl        one `EvaluationSample` a line, written as each ends

An evaluation that was killed goes on behind the samples that are stored. Guaranteed: each sample stands in
the file once; a folder holds samples of one model under one setting alone; figures come from these two files
and nothing else; two evaluations of one machine never fill one folder at once.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from filelock import FileLock, Timeout
from pydantic import AwareDatetime, Field, ValidationError, model_validator

from coding_framework.config import RewardConfig
from coding_framework.errors import StorageError, UserError
from coding_framework.monitoring.storage import (
    RecordReader,
    append_line,
    keep_lines,
    storage_errors,
    write_whole,
)
from coding_framework.records import Contract, EvaluationSample, Record, TaskSplit

Engine = Literal["vllm", "transformers", "own"]
HEAD = "evaluation.json"
SAMPLES = "samples.jsonl"


class EvaluatedTask(Record):
    """What is known of a task when its samples are counted."""

    name: str
    """Unique in the evaluation."""
    tier: int = Field(ge=0, le=3)
    """Its tier."""
    family: str
    """Its family."""
    split: TaskSplit
    """Whether training saw it."""
    contract: Contract
    """What its answers are."""
    digest: str
    """Of all that is asked and judged by: two evaluations are compared only where it is the same."""


class EvaluationSettings(Record):
    """All that shapes a sample, apart from the model, the task and the seed."""

    max_turns: int = Field(ge=1)
    """Turns that an episode could have."""
    temperature: float = Field(ge=0)
    """Of the sampling."""
    max_prompt_tokens: int = Field(ge=1)
    """Limit of a prompt."""
    max_response_tokens: int = Field(ge=1)
    """Limit of an answer."""
    early_stop_reward: float
    """A turn that earned this much ended its episode."""
    tester: bool
    """Whether a tester took part."""
    reward: RewardConfig
    """What the turns earned by."""
    executor: Literal["emulator", "gpu"]
    """What ran the kernels: times of the first are modelled, of the second measured."""
    architecture: str
    """What they were compiled for."""
    compile_flags: tuple[str, ...] = ()
    """Given to the compiler."""
    engine: Engine
    """What sampled the answers; `own` is a model of the user's code."""
    dtype: str
    """Number format of the model."""


class LeftOut(Record):
    """A problem of a folder that was not asked."""

    file: str
    """Which."""
    words: str
    """Why."""


class EvaluationHead(Record):
    """What an evaluation asks, of whom."""

    label: str
    """`base`, `sft` or `rl` in a run, else a name of the model."""
    model: str
    """The folder that was evaluated."""
    weights: str
    """Digest of its files."""
    seed: int
    """Of the sampling."""
    samples_per_task: int = Field(ge=1)
    """Episodes of each task."""
    settings: EvaluationSettings
    """How they are had."""
    tasks: tuple[EvaluatedTask, ...] = Field(min_length=1)
    """On what."""
    left_out: tuple[LeftOut, ...] = ()
    """Problems that were named and not asked."""
    version: str
    """Of this package."""
    created_at: AwareDatetime = Field(default_factory=lambda: datetime.now(UTC))
    """When it was begun."""

    @model_validator(mode="after")
    def _each_task_once(self) -> EvaluationHead:
        names = [task.name for task in self.tasks]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"tasks occur twice: {', '.join(twice)}")
        return self

    def differences(self, other: EvaluationHead) -> tuple[str, ...]:
        """What keeps samples of both from standing in one folder; more samples of each task are no reason."""
        fields = ("label", "weights", "seed", "tasks", "version")
        found = [name for name in fields if getattr(self, name) != getattr(other, name)]
        own, others = self.settings.model_dump(), other.settings.model_dump()
        return (
            *found,
            *(f"{name} ({own[name]} / {others[name]})" for name in own if own[name] != others[name]),
        )


@dataclass(frozen=True)
class EvaluationFolder:
    """A path and nothing else."""

    path: Path

    @property
    def exists(self) -> bool:
        return (self.path / HEAD).is_file()

    def begin(self, head: EvaluationHead, *, start_anew: bool = False) -> list[EvaluationSample]:
        """Take the folder for this evaluation, and return what is stored of it already.

        A folder of another evaluation is refused, or with `start_anew` emptied.
        """
        if self.exists:
            other = self.head_differs(head)
            if other and not start_anew:
                raise UserError(
                    f"{self.path} holds another evaluation, which differs in {', '.join(other)}: name "
                    "another folder with --out"
                )
            if other:
                shutil.rmtree(self.path)
            else:
                head = head.model_copy(update={"created_at": self.head().created_at})
        elif self.path.is_dir() and any(self.path.iterdir()) and not start_anew:
            raise UserError(f"{self.path} holds other files: name a new folder with --out")
        with storage_errors(self.path, "create"):
            self.path.mkdir(parents=True, exist_ok=True)
        write_whole(self.path / HEAD, head.model_dump_json(indent=2))
        self._drop_torn_lines()
        return self.stored(head)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Held while samples are taken; a second evaluation into this folder is refused."""
        lock = FileLock(self.path.parent / f".{self.path.name}.lock")
        with storage_errors(self.path.parent, "create"):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            try:
                lock.acquire(blocking=False)
            except Timeout:
                raise UserError(f"{self.path} is in use by another evaluation") from None
        try:
            yield
        finally:
            lock.release()

    def head_differs(self, head: EvaluationHead) -> tuple[str, ...]:
        """In what the evaluation that is here differs from this one; nothing if it can go on."""
        try:
            return self.head().differences(head)
        except StorageError:
            return ("its version",)

    def head(self) -> EvaluationHead:
        """What was asked."""
        path = self.path / HEAD
        try:
            with storage_errors(path, "read"):
                return EvaluationHead.model_validate_json(path.read_bytes())
        except ValidationError as error:
            raise StorageError(f"{path} is damaged, or was written by another version: {error}") from error

    def append(self, sample: EvaluationSample) -> None:
        append_line(self.path / SAMPLES, sample.model_dump_json())

    def samples(self) -> list[EvaluationSample]:
        """Everything that is stored; a damaged line is an error, for figures must not miss one unseen."""
        reader = RecordReader(self.path / SAMPLES, EvaluationSample)
        found = list(reader)
        if reader.skipped:
            raise StorageError(
                f"{reader.skipped} line(s) of {self.path / SAMPLES} cannot be read: run the same evaluation "
                "again, which takes these samples anew"
            )
        return found

    def stored(self, head: EvaluationHead) -> list[EvaluationSample]:
        """Those that this head asks for."""
        wanted = {(task.name, number) for task in head.tasks for number in range(head.samples_per_task)}
        return [sample for sample in self.samples() if sample.key in wanted]

    def is_complete(self, head: EvaluationHead) -> bool:
        """Not, if a line is torn: `begin` drops it, and its sample is taken again."""
        try:
            return len(self.stored(head)) == len(head.tasks) * head.samples_per_task
        except StorageError:
            return False

    def _drop_torn_lines(self) -> None:
        seen: set[tuple[str, int]] = set()

        def is_whole_and_new(line: bytes) -> bool:
            try:
                key = EvaluationSample.model_validate_json(line).key
            except ValidationError:
                return False
            is_new = key not in seen
            seen.add(key)
            return is_new

        keep_lines(self.path / SAMPLES, is_whole_and_new)


def evaluation_folders(path: Path) -> Sequence[EvaluationFolder]:
    """The folder itself if it is an evaluation, else those of a run's models, in the order of training."""
    if EvaluationFolder(path).exists:
        return [EvaluationFolder(path)]
    found = [EvaluationFolder(path / "evaluation" / label) for label in ("base", "sft", "rl")]
    return [folder for folder in found if folder.exists]
