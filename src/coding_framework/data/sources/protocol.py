"""What a source of tasks is.

    class MyTasks:
        def tasks(self):
            yield Task(...)

A source gives tasks, in an order of its own and the same every time it is asked; what it cannot turn into one
it gives as a `BrokenTask` with the place, so that it is counted and named instead of lost. One that also
knows right kernels has `kernels()`: they are taken for training pairs only after the judge has passed them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, runtime_checkable

from pydantic import Field

from coding_framework.records import Candidate, ModuleTask, Record, Task

AnyTask = Task | ModuleTask


class BrokenTask(Record):
    """Something in a source that is no task."""

    place: str
    """The file, with line or column where that is known."""
    words: str
    """What is wrong with it."""
    count: int = Field(default=1, ge=1)
    """How many of the kind, where only the first is told."""


class KnownKernel(Record):
    """An answer to one of a source's tasks which the source says is right."""

    task: str
    """Name of the task."""
    candidate: Candidate
    """The answer."""
    claimed_us: float | None = Field(default=None, gt=0)
    """The source's own time: decides which pairs are tried, and is never shown as a time."""


TaskItem = Task | ModuleTask | BrokenTask


@runtime_checkable
class TaskSource(Protocol):
    """Where tasks come from."""

    def tasks(self) -> Iterable[TaskItem]:
        """All of them, in the same order every time."""


@runtime_checkable
class KernelSource(TaskSource, Protocol):
    """A source that also knows answers."""

    def kernels(self) -> Iterable[KnownKernel]:
        """All of them, in the same order every time."""
