"""The tasks of a plan: how many of which source, what is left out, and what this machine cannot judge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from coding_framework.config import FrameworkConfig
from coding_framework.cuda.safety_wrapper import SafetyWrapper
from coding_framework.data.sources.book import brings_kernels, task_book
from coding_framework.data.sources.protocol import AnyTask
from coding_framework.data.sources.sourced import WORDS
from coding_framework.data.tasks.split import asked_tasks, held_out_tasks, overlap_of, training_tasks
from coding_framework.errors import NotAvailableError
from coding_framework.monitoring.run_folder import RunFolder
from coding_framework.records import ModuleTask
from coding_framework.training.plan.changes import has_begun
from coding_framework.training.plan.machine import Machine
from coding_framework.training.plan.refusals import Refusal

_SHOWN = 3


def keep_to_the_run(config: FrameworkConfig, run: RunFolder | None) -> FrameworkConfig:
    """The same config, good in any folder; of a run that goes on, with the tasks that it began with."""
    from coding_framework.data.sources.keeping import FILE_NAME
    from coding_framework.data.sources.run_tasks import with_kept

    tasks = config.tasks.model_copy(update={"sources": tuple(map(_good_anywhere, config.tasks.sources))})
    config = config.model_copy(update={"tasks": tasks})
    kept = run.path / FILE_NAME if run is not None and has_begun(run) else None
    return with_kept(config, kept) if kept is not None and kept.exists() else config


def _good_anywhere(source: str) -> str:
    path = Path(source).expanduser()
    return source if source in WORDS or not path.exists() else str(path.absolute())


def task_refusals(config: FrameworkConfig, machine: Machine) -> Iterator[Refusal]:
    """Of a resolved config; asks for names alone, so that a refusal costs no comparison of contents."""
    yield from no_kernels(config)
    if config.tasks.kept is not None:
        from coding_framework.data.sources.run_tasks import lost_oracles

        yield from (Refusal("settings", words) for words in dict.fromkeys(lost_oracles(config.tasks)))
    yield from module_refusals(config, machine, (*asked_tasks(config.tasks), *held_out_tasks(config.tasks)))


def module_refusals(config: FrameworkConfig, machine: Machine, tasks: Sequence[AnyTask]) -> Iterator[Refusal]:
    """Modules where nothing can judge them."""
    wanted = {task.name: task for task in tasks}
    modules = [task for task in wanted.values() if isinstance(task, ModuleTask)]
    if not modules:
        return
    kinds = " and ".join(sorted({task.contract for task in modules}))
    words = (
        f"{len(modules)} of {len(wanted)} tasks ({_some([task.name for task in modules])}) are PyTorch "
        f"modules: their answers (contract {kinds}) hold host code, which needs a GPU and a sandbox"
    )
    instead = "name kernel tasks alone in tasks.train and tasks.held_out, or leave their source out"
    if not machine.cards:
        reason = f" ({machine.no_cards_because})" if machine.no_cards_because else ""
        yield Refusal("machine", f"{words}, and this machine has no GPU{reason}: {instead}")
    elif config.judge.executor != "gpu":
        yield Refusal("settings", f"{words}, but judge.executor is `emulator`: set it to `gpu`, or {instead}")
    else:
        try:
            SafetyWrapper(config.judge).require()
        except NotAvailableError as error:
            yield Refusal("machine", f"{words}, and this machine has {error}. Make one work, or {instead}")


def no_kernels(config: FrameworkConfig) -> Iterator[Refusal]:
    """SFT without a kernel to learn from."""
    if config.sft.enabled and not brings_kernels(config.tasks):
        yield Refusal(
            "settings",
            f"sft.enabled is true, but no source of {', '.join(config.tasks.sources)} brings kernels to "
            "learn from: add `catalogue` to tasks.sources, or set sft.enabled=false and train by RL alone",
        )


def task_notes(config: FrameworkConfig) -> tuple[str, ...]:
    """What the sources gave and what became of it; nothing where all tasks are the catalogue's."""
    book = task_book(config.tasks)
    if not book.sourced and not book.reports:
        return ()
    return tuple(_notes(config))


def _notes(config: FrameworkConfig) -> Iterator[str]:
    from coding_framework.data.sources.run_tasks import changes_since

    book = task_book(config.tasks)
    yield from (f"tasks of {report.sentence}" for report in book.reports)
    yield f"trained on: {_by_source(training_tasks(config.tasks), config)}"
    yield f"held out: {_by_source(held_out_tasks(config.tasks), config)}"
    overlap = overlap_of(config.tasks)
    if overlap.left_out:
        named = "; ".join(f"{one.task}: {one.why}" for one in overlap.left_out)
        yield f"left out of training, {len(overlap.left_out)}: {named}"
    if overlap.by_text_alone:
        because = next(iter(overlap.by_text_alone.values()))
        yield (
            f"compared with what is held out by their text alone, {len(overlap.by_text_alone)}, since they "
            f"could not be run on the CPU here: {_some(list(overlap.by_text_alone))} (the first: {because})"
        )
    if config.tasks.kept is not None:
        for words in changes_since(config.tasks):
            yield (
                f"changed since the run began: {words}. The run goes on with the tasks that it began with, "
                f"which stand in {config.tasks.kept}"
            )


def _by_source(tasks: Sequence[AnyTask], config: FrameworkConfig) -> str:
    book = task_book(config.tasks)
    counts = Counter(
        (book.source_of(task.name), task.contract if isinstance(task, ModuleTask) else "kernel")
        for task in tasks
    )
    return ", ".join(f"{count} of {source} (contract {kind})" for (source, kind), count in counts.items())


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
