"""Tasks made by a user's own code, named as `module:attribute` or as an entry point.

The object is a task, an iterable of tasks, a function without arguments that gives either, or a `TaskSource`.
Guarantees: a task's oracle crosses to other processes as its name, not as a pickle, so that it may be a
lambda or a closure; there the module is imported again, from where it was found here. Not guaranteed: that it
gives the same task there; `keeping.py` compares digests.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from coding_framework.cuda.task_identity import task_digest
from coding_framework.data.sources.protocol import BrokenTask, KernelSource, KnownKernel, TaskItem, TaskSource
from coding_framework.errors import ConfigError
from coding_framework.plugins import load_object
from coding_framework.records import Dimensions, ModuleTask, Oracle, Task

GROUP = "coding_framework.tasks"


@dataclass(frozen=True)
class OwnOracle:
    """The oracle of a task that a user's code makes: found again by name wherever it is asked."""

    reference: str
    task: str
    folder: str
    """Where the module is looked for besides the installed packages."""
    digest: str
    """Of the task as it was when the run began."""

    def __call__(
        self, xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions
    ) -> Mapping[str, Any]:
        return self.found()(xp, inputs, dimensions)

    def found(self) -> Oracle:
        """The user's own function; raises `ConfigError` where the task is no longer what it was."""
        return _same_oracle(self)


class OwnSource:
    """What a reference leads to."""

    def __init__(self, reference: str, folder: str | None = None) -> None:
        self._reference = reference
        self._folder = str(Path.cwd()) if folder is None else folder

    def tasks(self) -> Iterator[TaskItem]:
        for item in own_items(self._reference, self._folder):
            yield self._portable(item) if isinstance(item, Task) else item

    def kernels(self) -> Iterable[KnownKernel]:
        found = _found(self._reference, self._folder)
        return found.kernels() if isinstance(found, KernelSource) else ()

    def _portable(self, task: Task) -> Task:
        oracle = OwnOracle(self._reference, task.name, self._folder, task_digest(task))
        return task.model_copy(update={"oracle": oracle})


def own_items(reference: str, folder: str) -> Iterator[TaskItem]:
    """What the user's code gives, with the oracles as they are."""
    found = _found(reference, folder)
    given = found.tasks() if isinstance(found, TaskSource) else found
    if isinstance(given, Task | ModuleTask):
        given = (given,)
    if not isinstance(given, Iterable) or isinstance(given, str | Mapping):
        raise ConfigError(
            f"'{reference}' gives {type(given).__name__}: it must be a Task or ModuleTask, an iterable of "
            "them, a function that returns either, or an object with tasks()"
        )
    for number, item in enumerate(given, start=1):
        if isinstance(item, Task | ModuleTask | BrokenTask):
            yield item
        else:
            yield BrokenTask(
                place=f"{reference}, item {number}",
                words=f"a {type(item).__name__} is neither a Task nor a ModuleTask",
            )


def _found(reference: str, folder: str) -> object:
    if folder and folder not in sys.path:
        sys.path.append(folder)  # last: nothing there hides an installed module
    found = load_object(reference, GROUP)
    if isinstance(found, type) or (callable(found) and not isinstance(found, TaskSource)):
        return _called(found, reference)
    return found


def _called(function: Callable[[], object], reference: str) -> object:
    try:
        return function()
    except Exception as error:
        raise ConfigError(f"'{reference}' failed: {type(error).__name__}: {error}") from error


@cache
def _same_oracle(wanted: OwnOracle) -> Oracle:
    """Looked up and compared once in each process."""
    task = _tasks(wanted.reference, wanted.folder).get(wanted.task)
    if task is None:
        raise ConfigError(
            f"'{wanted.reference}' no longer gives the task '{wanted.task}' that the run began with: put it "
            "back, or start a new run"
        )
    if task_digest(task) != wanted.digest:
        raise ConfigError(
            f"the task '{wanted.task}' of '{wanted.reference}' is another one than when the run began (its "
            "shapes, budget, baseline or what its oracle computes): put it back as it was, or start a new run"
        )
    return task.oracle


@cache
def _tasks(reference: str, folder: str) -> dict[str, Task]:
    return {item.name: item for item in own_items(reference, folder) if isinstance(item, Task)}
