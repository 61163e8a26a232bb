"""A folder of problems: files in KernelBench's form (`.py`) and kernels of one's own with a header (`.cu`).

Guarantees: every file is looked at and is either a problem or named with the reason why not; names are
unique, and so are texts. Files and folders that begin with `_` or `.` are passed over, and in a checkout of
KernelBench all but the levels. Reading a `.py` runs nothing; reading a `.cu` compiles it and runs it on the
emulator.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from coding_framework.cuda.compiler import CUDACompiler
from coding_framework.data.archives.problems import ProblemLog, RowError
from coding_framework.data.archives.python_files import PythonShard, has_levels, python_shard
from coding_framework.data.kernelbench_loader import check_problem
from coding_framework.data.user_problem import read_problem
from coding_framework.errors import UserError
from coding_framework.records import ModuleTask, Record, Task


class FolderProblem(Record):
    """One problem."""

    file: Path
    """Where it stands."""
    task: Task | ModuleTask
    """What the judge takes."""

    @property
    def text(self) -> str:
        return self.task.source if isinstance(self.task, ModuleTask) else self.task.baseline


class BrokenProblem(Record):
    """A file that is none."""

    file: Path
    """Where it stands."""
    words: str
    """What is wrong with it."""


class ProblemFolder:
    """What lies in a folder (or a file alone); raises `UserError` where there is nothing."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            raise UserError(f"there is no file or folder {path}")
        self.path = path
        self._modules = _modules_in(path)
        self.cuda = _cuda_in(path)
        """Kernels with a header."""
        if not self.count:
            raise UserError(
                f"{path} holds no problem: neither a .py file with a class Model, get_inputs() and "
                "get_init_inputs(), nor a .cu file with a naive kernel and a header (docs/evaluation.md)"
            )

    @property
    def python(self) -> tuple[Path, ...]:
        """Files in KernelBench's form."""
        return self._modules.files if self._modules else ()

    @property
    def count(self) -> int:
        return len(self.python) + len(self.cuda)

    def read(
        self, compiler: CUDACompiler, *, modules: bool = True
    ) -> Iterator[FolderProblem | BrokenProblem]:
        """Every file, Python first unless `modules` is off; one that repeats a name or text is broken."""
        seen: list[FolderProblem] = []
        for one in self._each(compiler, modules):
            twin = _twin(one, seen) if isinstance(one, FolderProblem) else None
            if isinstance(one, FolderProblem) and twin is None:
                seen.append(one)
            yield one if twin is None else BrokenProblem(file=one.file, words=twin)

    def _each(self, compiler: CUDACompiler, modules: bool) -> Iterator[FolderProblem | BrokenProblem]:
        if self._modules is not None and modules:
            yield from _read_modules(self._modules)
        for file in self.cuda:
            yield _read_kernel(file, compiler)


def _modules_in(path: Path) -> PythonShard | None:
    if path.is_file() and path.suffix != ".py":
        return None
    try:
        return python_shard(path)
    except UserError:  # a folder without any
        return None


def _cuda_in(path: Path) -> tuple[Path, ...]:
    if path.is_file():
        return (path,) if path.suffix == ".cu" else ()
    if has_levels(path):
        return ()
    found = [(file, file.relative_to(path).parts) for file in path.rglob("*.cu") if file.is_file()]
    return tuple(sorted(file for file, parts in found if not any(p.startswith(("_", ".")) for p in parts)))


def _read_modules(shard: PythonShard) -> Iterator[FolderProblem | BrokenProblem]:
    log = ProblemLog(shard.name)
    for raw in shard.rows(log):
        file = Path(raw.file)
        try:
            found = check_problem(raw)
        except RowError as error:
            yield BrokenProblem(file=file, words=str(error))
            continue
        yield FolderProblem(file=file, task=found.task)
    for problem in log.report().problems:
        yield BrokenProblem(file=Path(problem.file), words=problem.words)


def _read_kernel(file: Path, compiler: CUDACompiler) -> FolderProblem | BrokenProblem:
    try:
        task = read_problem(file, compiler).task
    except UserError as error:
        words = str(error).removeprefix(str(file)).removeprefix(":").strip()
        return BrokenProblem(file=file, words=words)
    return FolderProblem(file=file, task=task)


def _twin(one: FolderProblem, seen: list[FolderProblem]) -> str | None:
    """In words, if an earlier problem has its name or its text."""
    for other in seen:
        if other.task.name == one.task.name:
            return f"it is called {one.task.name} like {other.file}: results go by name, rename one of them"
        if other.text == one.text:
            return f"it is the same problem as {other.file}"
    return None
