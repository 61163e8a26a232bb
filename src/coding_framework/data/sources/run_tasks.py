"""The tasks of a run, written down once when it begins and found there ever after.

Guarantees: with the catalogue alone nothing is written; a file that is there is never written again, so that
a run that is taken up again has the tasks that it began with, whatever became of its sources. `changes_since`
says what became of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from coding_framework.config import FrameworkConfig, TasksConfig
from coding_framework.data.sources.book import read_sources, task_book
from coding_framework.data.sources.keeping import FILE_NAME, KeptTask, KeptTasks, read_kept, write_kept
from coding_framework.data.sources.own import OwnOracle
from coding_framework.data.sources.sourced import CATALOGUE, SourcedTask
from coding_framework.data.tasks.split import held_out_names, overlap_of, training_tasks
from coding_framework.errors import FrameworkError
from coding_framework.records import Task


def with_kept_tasks(config: FrameworkConfig, run_dir: Path, also: Sequence[str] = ()) -> FrameworkConfig:
    """The same config with the tasks of this run folder, written there if they are not yet.

    `also` names tasks that are needed whether they are trained on or not.
    """
    path = run_dir / FILE_NAME
    if set(config.tasks.sources) == {CATALOGUE} and not path.exists():
        return config
    if not path.exists():
        write_kept(path, _to_keep(config.tasks, also))
    return with_kept(config, path)


def with_kept(config: FrameworkConfig, path: Path) -> FrameworkConfig:
    """The same config with the tasks of this file."""
    return config.model_copy(update={"tasks": config.tasks.model_copy(update={"kept": path})})


def lost_oracles(config: TasksConfig) -> Iterator[str]:
    """In words, tasks of a user's own code that are no longer what they were: no run goes on without them."""
    assert config.kept is not None
    for one in read_kept(config.kept).tasks:
        if isinstance(one.task, Task) and isinstance(one.task.oracle, OwnOracle):
            try:
                one.task.oracle.found()
            except FrameworkError as error:
                yield str(error)


def changes_since(config: TasksConfig) -> Iterator[str]:
    """In words, what the sources give now and did not when the run began; nothing where nothing changed."""
    assert config.kept is not None
    kept = {one.task.name: one for one in read_kept(config.kept).tasks}
    try:
        now = {one.task.name: one for one in read_sources(config.sources).sourced}
    except FrameworkError as error:
        yield f"the sources can no longer be read ({error})"
        return
    for source in dict.fromkeys(one.source for one in kept.values()):
        own = {name: one for name, one in kept.items() if one.source == source}
        gone = [name for name in own if name not in now]
        other = [name for name, one in own.items() if name in now and now[name].digest != one.digest]
        if other:
            yield f"{source} has other contents for {_some(other)}"
        if gone:
            yield f"{source} no longer gives {_some(gone)}"


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"


def _to_keep(config: TasksConfig, also: Sequence[str]) -> KeptTasks:
    book = task_book(config)
    overlap = overlap_of(config)
    wanted = {*(task.name for task in training_tasks(config)), *held_out_names(config), *also}
    wanted |= {one.task for one in overlap.left_out}  # a name in `tasks.train` has to lead somewhere
    kept: list[SourcedTask] = [one for one in book.sourced if one.task.name in wanted]
    return KeptTasks(tasks=tuple(KeptTask.of(one) for one in kept), overlap=overlap)
