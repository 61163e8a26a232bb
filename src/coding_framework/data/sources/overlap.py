"""Tasks that may not be trained on because they are, under another name, what is held out.

Every task of a source is compared with everything that is held out, and every task of the catalogue with what
is held out of the sources: by the normal form of its text or of its naive kernel, by what its module or
oracle computes on drawn numbers, and where numbers are no floats by letting its naive kernel answer for the
held-out task. Guarantees: what is found is left out and named. Not guaranteed: that a module which cannot be
run here, because it is too large for one, is compared by more than its text; those are named.
"""

from __future__ import annotations

from collections.abc import Sequence

from coding_framework.config import JudgeConfig, TasksConfig
from coding_framework.cuda.judge import Judge
from coding_framework.data.pairs.contamination import HeldOut
from coding_framework.data.pairs.same_program import Compile
from coding_framework.data.pairs.source_edit import is_plan_line, replace_words
from coding_framework.data.sources.book import TaskBook, task_book
from coding_framework.data.sources.left_out import LeftOut, Overlap
from coding_framework.data.sources.module_traces import trace_modules
from coding_framework.data.sources.protocol import AnyTask
from coding_framework.data.tasks.split import held_out_tasks
from coding_framework.data.templates.catalogue_keys import formula_key
from coding_framework.records import Candidate, ModuleTask, Task


def overlap(asked: Sequence[AnyTask], held_out: Sequence[AnyTask], book: TaskBook) -> Overlap:
    """Those of `asked` that overlap with `held_out`, each with the reason."""
    if not any(task.name in book.by_name for task in (*asked, *held_out)):
        return Overlap()
    whole = held_out_set(held_out, book)
    added = held_out_set([task for task in held_out if task.name in book.by_name], book, alone=True)
    found, unseen = _modules([task for task in asked if isinstance(task, ModuleTask)], whole, added)
    for task in asked:
        if isinstance(task, Task):
            reason = _why_not(task, whole if task.name in book.by_name else added)
            if reason is not None:
                found[task.name] = reason
    left_out = (
        LeftOut(task=task.name, source=book.source_of(task.name), why=found[task.name])
        for task in asked
        if task.name in found
    )
    return Overlap(left_out=tuple(left_out), by_text_alone=unseen)


def open_held_out(config: TasksConfig, compile_source: Compile | None = None) -> HeldOut:
    """Everything that no pair may be made of, the kernels that sources bring for it among it."""
    from coding_framework.data.pairs.known import held_out_kernels

    book, held_out = task_book(config), held_out_tasks(config)
    own = [task for task in held_out if task.name in book.by_name]
    named = [task.name for task in held_out if task.name not in book.by_name]
    kernels = held_out_kernels(config, {task.name for task in own}) if own else ()
    return HeldOut(named, compile_source, others=own, kernels=kernels)


def held_out_set(held_out: Sequence[AnyTask], book: TaskBook, *, alone: bool = False) -> HeldOut:
    """For comparing with; `alone` leaves the families of the catalogue aside."""
    own = [task for task in held_out if task.name in book.by_name]
    named = [task.name for task in held_out if task.name not in book.by_name]
    return HeldOut(named, others=own, families=frozenset()) if alone else HeldOut(named, others=own)


def _modules(
    asked: Sequence[ModuleTask], whole: HeldOut, added: HeldOut
) -> tuple[dict[str, str], dict[str, str]]:
    """By text first; what is left is run, together with the held-out modules, in one process."""
    found = {task.name: why for task in asked if (why := whole.why_not_module(task)) is not None}
    left = [task for task in asked if task.name not in found]
    traces = trace_modules([*left, *whole.modules], whole.modules)
    whole.take_traces(traces)
    added.take_traces(traces)
    for task in left:
        why = whole.why_not_trace(traces[task.name])
        if why is not None:
            found[task.name] = why
    return found, {task.name: words for task in left if (words := traces[task.name].why_not)}


def _why_not(task: Task, held_out: HeldOut) -> str | None:
    why = held_out.why_not_task(task, formula_key(task.name)) or held_out.why_not_code(task.baseline)
    if why is not None or _has_floats_alone(task):
        return why
    passed = next((other.name for other in held_out.tasks if _answers(task, other)), None)
    return f"its naive kernel passes as {passed}, which is held out" if passed else None


def _has_floats_alone(task: Task) -> bool:
    """Then its numbers have been compared already."""
    return all(spec.dtype in ("float32", "float16") for spec in (*task.inputs, *task.outputs))


def _answers(task: Task, other: Task) -> bool:
    """Whether the naive kernel of one passes the judge as the other, its plan's names replaced."""
    mine, theirs = (
        [[spec.dtype for spec in specs] for specs in (t.inputs, t.outputs)] for t in (task, other)
    )
    if mine != theirs or len(task.dimensions) != len(other.dimensions):
        return False
    names = dict(zip(task.default_arguments, other.default_arguments, strict=True))
    lines = (
        replace_words(line, names) if is_plan_line(line) else line for line in task.baseline.splitlines()
    )
    judge = Judge(JudgeConfig(executor="emulator"))
    try:
        return judge.judge(other, Candidate(source="\n".join(lines))).passed
    finally:
        judge.close()
