"""Which tasks are taught and which are kept for the test, as the configuration says it.

`tasks.train` and `tasks.held_out` name tasks. A `*` stands for what the families say: in `train` for
every task of `tasks.sources` whose family is not held out, in `held_out` for every task of one that is.

Guarantees: no task is in both; what is named in `held_out` is never trained on, `*` or not; a task of a
held-out family cannot be trained on even by name; with tasks of other sources, what computes the same as a
held-out task is not trained on either (`sources/overlap.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from coding_framework.config import FrameworkConfig, TasksConfig
from coding_framework.data.sources.book import TaskBook, task_book
from coding_framework.data.sources.left_out import LeftOut, Overlap
from coding_framework.data.sources.protocol import AnyTask
from coding_framework.data.tasks import all_tasks
from coding_framework.data.tasks.families import HELD_OUT_FAMILIES
from coding_framework.errors import ConfigError
from coding_framework.records import Task

EVERYTHING = "*"


def held_out_tasks(config: TasksConfig) -> tuple[AnyTask, ...]:
    """Tasks that only the evaluation sees, in the order in which they are named."""
    book = task_book(config)
    known = dict.fromkeys(task.name for task in (*all_tasks(), *book.everything))
    families = [task for name in known if (task := book.get(name)).family in HELD_OUT_FAMILIES]
    return _named(config.held_out, families, book)


def held_out_names(config: TasksConfig) -> tuple[str, ...]:
    """Their names."""
    return tuple(task.name for task in held_out_tasks(config))


def training_tasks(config: TasksConfig) -> tuple[AnyTask, ...]:
    """Tasks that SFT and RL may see, in the order in which they are named."""
    return _decided(config)[0]


def catalogue_tasks(config: TasksConfig) -> tuple[Task, ...]:
    """Those that are trained on and come with the package: pairs are drawn from their kernels."""
    own = task_book(config).by_name
    return tuple(task for task in training_tasks(config) if isinstance(task, Task) and task.name not in own)


def overlap_of(config: TasksConfig) -> Overlap:
    """Tasks that `tasks.train` asks for and that are not trained on, with the reason."""
    return _decided(config)[1]


def asked_tasks(config: TasksConfig) -> tuple[AnyTask, ...]:
    """What `tasks.train` asks for, as far as names and families go."""
    book = task_book(config)
    held_out = {task.name for task in held_out_tasks(config)}
    families = [task for task in book.everything if task.family not in HELD_OUT_FAMILIES]
    chosen = _named(config.train, [task for task in families if task.name not in held_out], book)
    for task in chosen:
        if task.family in HELD_OUT_FAMILIES:
            raise ConfigError(
                f"tasks.train names {task.name}, but its family `{task.family}` is never trained on"
            )
    return chosen


def evaluation_tasks(config: FrameworkConfig) -> tuple[str, ...]:
    """Held-out tasks first, then (unless switched off) those that were trained on."""
    trained = training_tasks(config.tasks) if config.evaluation.include_train_tasks else ()
    return (*held_out_names(config.tasks), *(task.name for task in trained))


@lru_cache(maxsize=8)
def _decided(config: TasksConfig) -> tuple[tuple[AnyTask, ...], Overlap]:
    asked = asked_tasks(config)
    overlap = _overlap(asked, config)
    names = {one.task for one in overlap.left_out}
    kept = tuple(task for task in asked if task.name not in names)
    if not kept:
        raise ConfigError(_nothing_left(config, overlap.left_out))
    return kept, overlap


def _overlap(asked: Sequence[AnyTask], config: TasksConfig) -> Overlap:
    """As it was decided when the run began, or now."""
    book = task_book(config)
    if config.kept is not None:
        from coding_framework.data.sources.keeping import read_kept

        return read_kept(config.kept).overlap
    if not book.sourced:
        return Overlap()
    from coding_framework.data.sources.overlap import overlap

    held_out = held_out_tasks(config)
    found = overlap(asked, held_out, book)
    return found.model_copy(update={"left_out": (*_of_families(config, held_out), *found.left_out)})


def _of_families(config: TasksConfig, held_out: Sequence[AnyTask]) -> Iterator[LeftOut]:
    """Tasks of sources that `*` would stand for, were it not for their family."""
    names = {task.name for task in held_out}
    for one in task_book(config).sourced if EVERYTHING in config.train else ():
        if one.task.family in HELD_OUT_FAMILIES and one.task.name not in names:
            why = f"its family {one.task.family} is never trained on"
            yield LeftOut(task=one.task.name, source=one.source, why=why)


def _nothing_left(config: TasksConfig, left_out: Sequence[LeftOut]) -> str:
    if not left_out:
        given = "; ".join(report.sentence for report in task_book(config).reports)
        return f"no task is left to train on: name some in tasks.train{f' ({given})' if given else ''}"
    first = left_out[0]
    return (
        f"no task is left to train on: all {len(left_out)} compute what is held out, {first.task} for one "
        f"({first.why}): name others in tasks.train, or hold out less"
    )


def _named(names: Sequence[str], everything: Sequence[AnyTask], book: TaskBook) -> tuple[AnyTask, ...]:
    found: dict[str, AnyTask] = {}
    for name in names:
        for task in everything if name == EVERYTHING else (book.get(name),):
            found.setdefault(task.name, task)
    return tuple(found.values())
