"""The tasks of a run as a file in its folder, so that every process and every resume has the very same ones.

Guarantees: what is read back judges as what was written: modules and a user's `.cu` problems are there whole
(a problem with its compiled truth, so that no process compiles or derives anything again), and of tasks that
a user's own code makes all but the oracle, which is imported again and compared by digest on its first use.
Sources may change or vanish meanwhile. Not guaranteed: that kernels for training pairs are still there; they
are read anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from pydantic import JsonValue, ValidationError, model_validator

from coding_framework.cuda.contract import parse_launch_plan
from coding_framework.data.problems.oracle import NaiveKernelOracle
from coding_framework.data.sources.left_out import Overlap
from coding_framework.data.sources.own import OwnOracle
from coding_framework.data.sources.sourced import SourcedTask
from coding_framework.errors import StorageError
from coding_framework.monitoring.storage import storage_errors, write_whole
from coding_framework.records import ModuleTask, Oracle, Record, Task

FILE_NAME = "tasks.json"


class KeptTruth(Record):
    """The truth of a user's `.cu` problem."""

    ptx: str
    """Of the naive kernel, or of its double form."""
    wide: bool
    """Which of them."""


class KeptImport(Record):
    """Where the oracle of a task of a user's own code is found."""

    reference: str
    """`module:attribute` or an entry point."""
    folder: str
    """Where it is looked for besides the installed packages."""


class KeptTask(Record):
    """One task."""

    source: str
    """As `tasks.sources` names it."""
    digest: str
    """Of what decides a verdict."""
    module: ModuleTask | None = None
    """The whole task, where it is a module."""
    task: dict[str, JsonValue] | None = None
    """All but its oracle, where it is not."""
    truth: KeptTruth | None = None
    """Its oracle, where it is a user's `.cu` problem."""
    own: KeptImport | None = None
    """Its oracle, where a user's own code makes it."""

    @model_validator(mode="after")
    def _it_is_one_kind_of_task(self) -> KeptTask:
        if (self.module is None) == (self.task is None):
            raise ValueError("a task is either a module or not")
        if (self.task is not None) != ((self.truth is None) != (self.own is None)):
            raise ValueError("a task that is no module has exactly one kind of oracle")
        return self

    @classmethod
    def of(cls, sourced: SourcedTask) -> KeptTask:
        source, digest, task = sourced.source, sourced.digest, sourced.task
        if isinstance(task, ModuleTask):
            return cls(source=source, digest=digest, module=task)
        words, oracle = task.model_dump(mode="json"), task.oracle
        if isinstance(oracle, NaiveKernelOracle):
            truth = KeptTruth(ptx=oracle.ptx, wide=oracle.wide)
            return cls(source=source, digest=digest, task=words, truth=truth)
        assert isinstance(oracle, OwnOracle), f"{task.name} has an oracle that cannot be kept"
        own = KeptImport(reference=oracle.reference, folder=oracle.folder)
        return cls(source=source, digest=digest, task=words, own=own)

    def sourced(self) -> SourcedTask:
        """The task again."""
        task = self.module if self.module is not None else self._with_oracle()
        return SourcedTask(task=task, source=self.source, digest=self.digest)

    def _with_oracle(self) -> Task:
        assert self.task is not None
        name = str(self.task["name"])
        if self.own is not None:
            oracle: Oracle = OwnOracle(self.own.reference, name, self.own.folder, self.digest)
            return Task.model_validate({**self.task, "oracle": oracle})
        assert self.truth is not None
        draft = Task.model_validate({**self.task, "oracle": _not_asked})
        plan = parse_launch_plan(draft.baseline, draft)
        truth = NaiveKernelOracle(self.truth.ptx, draft, plan, wide=self.truth.wide)
        return draft.model_copy(update={"oracle": truth})


class KeptTasks(Record):
    """The file."""

    tasks: tuple[KeptTask, ...]
    """Those of the run that are not of the catalogue, held out ones among them."""
    overlap: Overlap = Overlap()
    """Tasks that are not trained on because of what is held out."""


@dataclass(frozen=True)
class RunTasks:
    """The file, read."""

    tasks: tuple[SourcedTask, ...]
    overlap: Overlap


def write_kept(path: Path, kept: KeptTasks) -> None:
    """Whole or not at all."""
    write_whole(path, kept.model_dump_json(indent=1))


@lru_cache(maxsize=8)
def read_kept(path: Path) -> RunTasks:
    """The tasks of a run; raises `StorageError` where the file is damaged or not there."""
    try:
        with storage_errors(path, "read"):
            kept = KeptTasks.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise StorageError(f"{path} is damaged, the run's tasks cannot be read: {error}") from error
    return RunTasks(tasks=tuple(one.sourced() for one in kept.tasks), overlap=kept.overlap)


def _not_asked(*_: object) -> dict[str, object]:
    raise AssertionError("the naive kernel is asked, not the task it belongs to")
