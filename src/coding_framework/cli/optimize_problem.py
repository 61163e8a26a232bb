"""What `cuda-rl optimize` may be given, read and refused before any model is loaded."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from coding_framework.errors import CandidateInputError, NotAvailableError, UserError

if TYPE_CHECKING:
    from coding_framework.config import JudgeConfig
    from coding_framework.records import Evaluation, ModuleTask, Task


@dataclass(frozen=True)
class Problem:
    """A task, and what its answers are compared with."""

    task: Task | ModuleTask
    reference: str
    """The source that a diff is against."""
    notes: tuple[str, ...]
    """What was decided on the way, in words."""
    judge: JudgeConfig
    """With an executor that can judge it."""


def problem_text(name: str) -> str:
    """The file's text, or the name itself for a task of the catalogue."""
    path = Path(name)
    if path.suffix in (".cu", ".py") or path.is_file():
        try:
            return path.read_text(encoding="utf-8")
        except OSError as error:
            raise CandidateInputError(f"{name} cannot be read: {error.strerror}") from None
        except UnicodeDecodeError:
            raise CandidateInputError(f"{name} is not UTF-8 text") from None
    return name


def read_problem(name: str, text: str, judge: JudgeConfig) -> Problem:
    """A `.cu` problem, a KernelBench file, or a task of the catalogue by its name."""
    path = Path(name)
    if path.suffix == ".py":
        return _module(path, text, judge)
    if path.suffix == ".cu" or text != name:
        return _user_problem(name, text, judge)
    from coding_framework.data.tasks import get_task

    task = get_task(name)
    return Problem(task, task.baseline, (), judge)


def require_sound(naive: Evaluation) -> None:
    """The naive kernel is what everything is measured against: it must pass."""
    if not naive.passed:
        verdict = naive.verdict.value.replace("_", " ")
        raise UserError(f"the naive kernel itself does not pass the judge ({verdict}): {naive.message}")


def _module(path: Path, text: str, judge: JudgeConfig) -> Problem:
    from coding_framework.cuda.toolchain.detect import find_gpus
    from coding_framework.records import ModuleTask

    for needed in ("class Model", "def get_inputs"):
        if needed not in text:
            raise CandidateInputError(
                f"{path} is no KernelBench file: it has no `{needed}` (a class Model, get_inputs() and "
                "get_init_inputs() are needed)"
            )
    _, gpus, reason = find_gpus()
    if not gpus:
        raise NotAvailableError(
            f"{path} is a PyTorch module: its answers hold host code and run on a GPU, and there is none "
            f"here ({reason}). Without a GPU, state the problem as a .cu file with a naive kernel"
        )
    task = ModuleTask(name=path.stem, source=text)
    return Problem(task, text, (), judge.model_copy(update={"executor": "gpu", "architecture": "auto"}))


def _user_problem(name: str, text: str, judge: JudgeConfig) -> Problem:
    from coding_framework.cuda.compiler import CompilerSettings, CUDACompiler
    from coding_framework.data.user_problem import build_problem, naive_source

    with CUDACompiler(CompilerSettings.for_judge(judge)) as compiler:
        found = build_problem(text, compiler, where=name)
    return Problem(found.task, naive_source(found.task), found.notes, judge)
