"""Which tasks are taught and which are kept for the test, as the configuration says it.

`tasks.train` and `tasks.held_out` name tasks. A `*` stands for what the families say: in `train` for
every task of a family that is not held out, in `held_out` for every task of one that is.

Guarantees: no task is in both; what is named in `held_out` is never trained on, `*` or not; a task of a
held-out family cannot be trained on even by name.
"""

from __future__ import annotations

from collections.abc import Sequence

from coding_framework.config import FrameworkConfig, TasksConfig
from coding_framework.data.tasks import all_tasks, get_task
from coding_framework.data.tasks.families import HELD_OUT_FAMILIES
from coding_framework.errors import ConfigError
from coding_framework.records import Task

EVERYTHING = "*"


def held_out_tasks(config: TasksConfig) -> tuple[Task, ...]:
    """Tasks that only the evaluation sees, in the order in which they are named."""
    families = [task for task in all_tasks() if task.family in HELD_OUT_FAMILIES]
    return _named(config.held_out, families)


def held_out_names(config: TasksConfig) -> tuple[str, ...]:
    """Their names."""
    return tuple(task.name for task in held_out_tasks(config))


def training_tasks(config: TasksConfig) -> tuple[Task, ...]:
    """Tasks that SFT and RL may see, in the order in which they are named."""
    held_out = {task.name for task in held_out_tasks(config)}
    families = [task for task in all_tasks() if task.family not in HELD_OUT_FAMILIES]
    chosen = _named(config.train, [task for task in families if task.name not in held_out])
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


def _named(names: Sequence[str], everything: Sequence[Task]) -> tuple[Task, ...]:
    found: dict[str, Task] = {}
    for name in names:
        for task in everything if name == EVERYTHING else (get_task(name),):
            found.setdefault(task.name, task)
    return tuple(found.values())
