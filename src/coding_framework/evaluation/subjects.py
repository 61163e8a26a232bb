"""What a model is asked: tasks of the catalogue as the config names them, or the problems of a folder.

Guarantees: a folder is refused before any model is loaded where this machine cannot judge it, where a file
is broken or where a naive kernel does not pass the judge itself; the refusal says which files and why. With
`skip_broken` these are left out instead, and the result says which.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from coding_framework.agents.prompts import default_contract
from coding_framework.config import FrameworkConfig, JudgeConfig
from coding_framework.cuda.compiler import CompilerSettings, CUDACompiler
from coding_framework.cuda.pool import JudgePool
from coding_framework.cuda.task_identity import task_digest
from coding_framework.cuda.toolchain.detect import find_gpus
from coding_framework.data.archives.verified_constants import with_verified_constants
from coding_framework.data.problem_folder import BrokenProblem, FolderProblem, ProblemFolder
from coding_framework.data.sources.book import find_task
from coding_framework.data.tasks.split import evaluation_tasks, held_out_names
from coding_framework.errors import NotAvailableError, UserError
from coding_framework.monitoring.evaluation_folder import EvaluatedTask, LeftOut
from coding_framework.monitoring.progress import progress_bar
from coding_framework.records import Candidate, ModuleTask, Task, TaskSplit

_WITHOUT_A_GPU = ". Without a GPU, state problems as .cu files with a naive kernel (docs/evaluation.md)"
NAMED = 20
"""How many files a refusal names."""


class Subject(NamedTuple):
    """A task, and what is written down of it."""

    task: Task | ModuleTask
    about: EvaluatedTask


class Suite(NamedTuple):
    """What is asked, and what of a folder is not."""

    subjects: tuple[Subject, ...]
    left_out: tuple[LeftOut, ...] = ()


def catalogue_suite(config: FrameworkConfig) -> Suite:
    """The tasks that the config names, of whatever source, those that are never trained on first."""
    held_out = frozenset(held_out_names(config.tasks))
    tasks = (find_task(config.tasks, name) for name in evaluation_tasks(config))
    return Suite(tuple(_named(task, task.name in held_out) for task in tasks))


def _named(task: Task | ModuleTask, held_out: bool) -> Subject:
    split: TaskSplit = "held_out" if held_out else "trained"
    return Subject(task, _about(task, split))


def folder_suite(path: Path, judge: JudgeConfig, pool: JudgePool, *, skip_broken: bool) -> Suite:
    """The problems of a folder; `judge` is a settled config."""
    folder = ProblemFolder(path)
    refused = _cannot_be_judged(folder, judge)
    if refused and not (skip_broken and folder.cuda):
        raise NotAvailableError(
            f"{len(refused)} of {folder.count} problems in {path} cannot be judged here: {refused[0].words}"
            + ("; --skip-broken leaves them out" if folder.cuda else _WITHOUT_A_GPU)
        )
    problems, broken = _sound(folder, judge, pool, skip_modules=bool(refused))
    left_out = (*refused, *(LeftOut(file=str(one.file), words=one.words) for one in broken))
    if (broken and not skip_broken) or not problems:
        raise UserError(_refusal(path, folder.count, left_out, can_skip=bool(problems)))
    subjects = tuple(Subject(one.task, _about(one.task, "suite")) for one in problems)
    return Suite(subjects, left_out)


def _cannot_be_judged(folder: ProblemFolder, judge: JudgeConfig) -> tuple[LeftOut, ...]:
    """Modules, unless a GPU judges."""
    if judge.executor == "gpu":
        return ()
    _, gpus, reason = find_gpus()
    why = "judge.executor is `emulator`" if gpus else f"there is none here ({reason})"
    words = f"answers to PyTorch modules hold host code, which is judged on a GPU, and {why}"
    return tuple(LeftOut(file=str(file), words=words) for file in folder.python)


def _sound(
    folder: ProblemFolder, judge: JudgeConfig, pool: JudgePool, *, skip_modules: bool
) -> tuple[list[FolderProblem], list[BrokenProblem]]:
    """Problems that can be asked, with hidden shapes that are known to run, and those that are broken."""
    underway: list[Future[FolderProblem | BrokenProblem]] = []
    with (
        progress_bar("reading problems", folder.count - skip_modules * len(folder.python)) as bar,
        CUDACompiler(CompilerSettings.for_judge(judge)) as compiler,
        ThreadPoolExecutor(judge.num_workers) as threads,
    ):
        for one in folder.read(compiler, modules=not skip_modules):
            underway.append(threads.submit(_settled, one, pool))
            underway[-1].add_done_callback(lambda _: bar.advance())
        found = [future.result() for future in underway]
    problems = [one for one in found if isinstance(one, FolderProblem)]
    return problems, [one for one in found if isinstance(one, BrokenProblem)]


def _settled(one: FolderProblem | BrokenProblem, pool: JudgePool) -> FolderProblem | BrokenProblem:
    """A problem whose reference is known to work."""
    if isinstance(one, BrokenProblem):
        return one
    if isinstance(one.task, ModuleTask):
        return one.model_copy(update={"task": with_verified_constants(one.task)})
    naive = pool.judge(one.task, Candidate(source=one.task.baseline))
    if naive.passed:
        return one
    verdict = naive.verdict.value.replace("_", " ")
    words = f"the naive kernel itself does not pass the judge ({verdict}): {naive.message}"
    return BrokenProblem(file=one.file, words=words)


def _refusal(path: Path, count: int, left_out: Sequence[LeftOut], *, can_skip: bool) -> str:
    lines = [f"{len(left_out)} of {count} problems in {path} cannot be asked:"]
    lines += [f"- {one.file}: {one.words.splitlines()[0]}" for one in left_out[:NAMED]]
    lines += [f"- … and {len(left_out) - NAMED} more"] if len(left_out) > NAMED else []
    way_out = (
        "mend them, or leave them out with --skip-broken" if can_skip else "there is nothing left to ask"
    )
    return "\n".join([*lines, way_out])


def _about(task: Task | ModuleTask, split: TaskSplit) -> EvaluatedTask:
    words = task.prompt if isinstance(task, Task) else ""
    digest = hashlib.sha256("\0".join((task_digest(task), words)).encode()).hexdigest()[:16]
    return EvaluatedTask(
        name=task.name,
        tier=task.tier,
        family=task.family,
        split=split,
        contract=default_contract(task),
        digest=digest,
    )
