"""The catalogue: tasks in four tiers, each with a naive baseline and some optimised variants.

A task is a module `tierN/NAME.py` with a function `task()`, and its kernels lie beside it as
`NAME.VARIANT.cu`; putting them there is all it takes.

Guarantees: names are unique, records are built once, and every kernel shipped here is meant to
pass the judge on every shape (the tests prove it). It does not hold the tasks of other archives.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from coding_framework.data.tasks.build import kernel_source, variant_names
from coding_framework.data.tasks.families import HELD_OUT_FAMILIES
from coding_framework.errors import UnknownTaskError
from coding_framework.records import Record, Task

__all__ = ["HELD_OUT_FAMILIES", "Variant", "all_tasks", "get_task", "kernels", "variants"]

_TIERS = ("tier0", "tier1", "tier2", "tier3")


class Variant(Record):
    """A way to write a task's kernel."""

    name: str
    """What it does, in a word or two, e.g. `warp_shuffle`."""
    source: str
    """Source in the `kernel` contract."""


@cache
def _catalogue() -> dict[str, tuple[Task, ModuleType]]:
    built = [(module.task(), module) for module in _modules()]
    return {task.name: (task, module) for task, module in built}


def _modules() -> Iterator[ModuleType]:
    """Every task's module, tier by tier and in alphabetical order."""
    for tier in _TIERS:
        package = import_module(f"{__name__}.{tier}")
        for entry in sorted(iter_modules(package.__path__), key=lambda entry: entry.name):
            module = import_module(f"{package.__name__}.{entry.name}")
            if hasattr(module, "task"):
                yield module


def all_tasks() -> tuple[Task, ...]:
    """Every task, tier by tier."""
    return tuple(task for task, _ in _catalogue().values())


def get_task(name: str) -> Task:
    """The task of this name, or `UnknownTaskError` with the names that come close."""
    return _entry(name)[0]


@cache
def variants(task_name: str) -> tuple[Variant, ...]:
    """The optimised variants of a task; the naive baseline is `Task.baseline`."""
    package = _entry(task_name)[1].__package__
    assert package is not None
    names = variant_names(package, task_name)
    return tuple(Variant(name=name, source=kernel_source(package, task_name, name)) for name in names)


def kernels(task_name: str) -> tuple[Variant, ...]:
    """Every kernel of a task: the naive baseline, called `naive`, and the variants."""
    return (Variant(name="naive", source=get_task(task_name).baseline), *variants(task_name))


def _entry(name: str) -> tuple[Task, ModuleType]:
    catalogue = _catalogue()
    if name not in catalogue:
        close = get_close_matches(name, catalogue, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(close)}?" if close else "`cuda-rl tasks` lists them"
        raise UnknownTaskError(f"there is no task named '{name}'; {hint}")
    return catalogue[name]
