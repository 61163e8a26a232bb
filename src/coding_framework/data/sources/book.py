"""All tasks that a configuration knows: the catalogue, and what its sources give.

Guarantees: names are unique; a name that two sources give for different tasks is refused, for the same task
it is given once; what is broken is counted and named; in a run the tasks are those that the run began with.
Sources are read once in a process and configuration. A task of the catalogue is known by its name whether the
catalogue is among the sources or not; `*` stands for what is among them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property, lru_cache

from pydantic import Field

from coding_framework.config import TasksConfig
from coding_framework.cuda.task_identity import task_digest
from coding_framework.data.sources.protocol import AnyTask, BrokenTask, KernelSource, KnownKernel
from coding_framework.data.sources.sourced import CATALOGUE, SourcedTask
from coding_framework.data.tasks import all_tasks, get_task
from coding_framework.errors import ConfigError, FrameworkError, UnknownTaskError
from coding_framework.records import ModuleTask, Record, Task


class SourceReport(Record):
    """What one source gave."""

    source: str
    """As `tasks.sources` names it."""
    tasks: int = Field(ge=0)
    """Sound ones."""
    repeated: int = Field(default=0, ge=0)
    """Tasks that another source, or this one, had given before."""
    broken: tuple[BrokenTask, ...] = ()
    """What is no task."""

    @property
    def sentence(self) -> str:
        """For the plan and the head of a log."""
        again = f", {self.repeated} given before" if self.repeated else ""
        words = f"{self.source}: {self.tasks} tasks{again}"
        if not self.broken:
            return words
        named = "; ".join(_named(one) for one in self.broken[:_SHOWN])
        more = f"; and {len(self.broken) - _SHOWN} more kinds" if len(self.broken) > _SHOWN else ""
        return f"{words}, {sum(one.count for one in self.broken)} left out as broken ({named}{more})"


_SHOWN = 5


def _named(broken: BrokenTask) -> str:
    times = f"{broken.count} times, first " if broken.count > 1 else ""
    return f"{times}{broken.place}: {broken.words}"


@dataclass(frozen=True)
class TaskBook:
    """The tasks of all sources together."""

    sourced: tuple[SourcedTask, ...] = ()
    """Those that are not of the catalogue."""
    has_catalogue: bool = True
    """Whether the catalogue is among the sources."""
    reports: tuple[SourceReport, ...] = ()
    """One for each source but the catalogue."""

    @cached_property
    def by_name(self) -> dict[str, SourcedTask]:
        return {one.task.name: one for one in self.sourced}

    def source_of(self, name: str) -> str:
        """As `tasks.sources` names it."""
        return self.by_name[name].source if name in self.by_name else "catalogue"

    @property
    def everything(self) -> tuple[AnyTask, ...]:
        """What `*` chooses from."""
        own = tuple(one.task for one in self.sourced)
        return (*all_tasks(), *own) if self.has_catalogue else own

    def get(self, name: str) -> AnyTask:
        """The task of this name; `UnknownTaskError` with the names that come close."""
        if name in self.by_name:
            return self.by_name[name].task
        try:
            return get_task(name)
        except UnknownTaskError:
            if not self.sourced:
                raise
            known = (*self.by_name, *(task.name for task in all_tasks()))
            close = get_close_matches(name, known, n=3, cutoff=0.5)
            hint = f"did you mean {' or '.join(close)}?" if close else f"{len(known)} other tasks are known"
            raise UnknownTaskError(f"there is no task named '{name}' in tasks.sources; {hint}") from None


def find_task(config: TasksConfig, name: str) -> AnyTask:
    """The task that a configuration knows by this name."""
    return task_book(config).get(name)


def task_book(config: TasksConfig) -> TaskBook:
    """What a configuration knows; in a run, what the run began with."""
    if config.kept is not None:
        from coding_framework.data.sources.keeping import read_kept

        return TaskBook(sourced=read_kept(config.kept).tasks, has_catalogue=CATALOGUE in config.sources)
    return read_sources(config.sources)


@lru_cache(maxsize=8)
def read_sources(sources: tuple[str, ...]) -> TaskBook:
    """Everything that the sources give now."""
    found: dict[str, SourcedTask] = {}
    reports = [_read(named, found) for named in dict.fromkeys(sources) if named != CATALOGUE]
    return TaskBook(sourced=tuple(found.values()), has_catalogue=CATALOGUE in sources, reports=tuple(reports))


def read_kernels(sources: Iterable[str]) -> Iterator[KnownKernel]:
    """The answers that the sources say are right, in their order."""
    from coding_framework.data.sources.opening import open_source

    for named in dict.fromkeys(sources):
        source = open_source(named)
        if isinstance(source, KernelSource):
            yield from source.kernels()


def brings_kernels(config: TasksConfig) -> bool:
    """Whether there is anything to make training pairs of, as far as that is known without reading it; a run
    that goes on was asked when it began."""
    if CATALOGUE in config.sources or config.kept is not None:
        return True
    from coding_framework.data.sources.opening import open_source
    from coding_framework.data.sources.own import OwnOracle

    own = (one.task for one in task_book(config).sourced)
    if any(isinstance(task, Task) and isinstance(task.oracle, OwnOracle) for task in own):
        return True
    return any(isinstance(open_source(named), KernelSource) for named in config.sources)


def _read(named: str, found: dict[str, SourcedTask]) -> SourceReport:
    broken: list[BrokenTask] = []
    taken: list[str] = []
    tasks = repeated = 0
    for item in _items(named):
        new = item if isinstance(item, BrokenTask) else _new(item, named, found)
        if isinstance(new, BrokenTask):
            broken.append(new)
        elif isinstance(new, _NameIsTaken):
            taken.append(new.words)
        else:
            tasks, repeated = tasks + new, repeated + (not new)
    if taken:
        raise ConfigError(
            f"{named} gives other tasks of names that are taken: {'; '.join(taken)}: rename them"
        )
    return SourceReport(source=named, tasks=tasks, repeated=repeated, broken=tuple(broken))


def _items(named: str) -> Iterator[AnyTask | BrokenTask]:
    """What the source gives; its own faults are told with its name."""
    from coding_framework.data.sources.opening import open_source

    try:
        yield from open_source(named).tasks()
    except (FrameworkError, GeneratorExit):
        raise
    except Exception as error:
        raise ConfigError(f"the source {named} failed: {type(error).__name__}: {error}") from error


def _new(task: AnyTask, named: str, found: dict[str, SourcedTask]) -> bool | BrokenTask | _NameIsTaken:
    """Takes the task in; False for one that is there already."""
    name = task.name
    if name in _catalogue_names():
        return _NameIsTaken(f"{name} (of the catalogue)")
    try:
        new = SourcedTask(task=task, source=named, digest=task_digest(task))
    except ConfigError as error:  # its oracle cannot be asked
        return BrokenTask(place=f"{named}, {name}", words=str(error))
    before = found.setdefault(name, new)
    if before is new:
        return True
    if before.digest == new.digest and isinstance(before.task, ModuleTask) == isinstance(task, ModuleTask):
        return False
    if before.source == named:
        return BrokenTask(place=f"{named}, {name}", words="a different task before it has the same name")
    return _NameIsTaken(f"{name} (of {before.source})")


@dataclass(frozen=True)
class _NameIsTaken:
    """Another source gives a different task of this name."""

    words: str


def _catalogue_names() -> frozenset[str]:
    return frozenset(task.name for task in all_tasks())
