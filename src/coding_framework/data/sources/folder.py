"""A folder of problems: `.cu` files with a header and a naive kernel, and `.py` files in KernelBench's form.

Guarantees: every file is either a task or is named with what is wrong with it. A `.cu` problem has been
compiled and run on all its shapes when it comes out (`data/user_problem.py`). In a checkout of KernelBench
nothing but its levels is looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from coding_framework.cuda.compiler import CUDACompiler
from coding_framework.data.archives.python_files import has_levels
from coding_framework.data.sources.archives import KernelBenchSource
from coding_framework.data.sources.protocol import BrokenTask, TaskItem
from coding_framework.data.user_problem import read_problem
from coding_framework.errors import UserError


class FolderSource:
    """One file or a folder of them."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def tasks(self) -> Iterator[TaskItem]:
        kernels = [] if has_levels(self._path) else _files(self._path, ".cu")
        modules = _files(self._path, ".py")
        if not kernels and not modules:
            raise UserError(
                f"{self._path} holds no problem: put .cu files with a header (docs/tasks.md) or .py files "
                "with Model, get_inputs and get_init_inputs into it"
            )
        if kernels:
            yield from _naive_kernels(kernels)
        if modules:
            yield from KernelBenchSource(self._path).tasks()


def _naive_kernels(files: list[Path]) -> Iterator[TaskItem]:
    with CUDACompiler() as compiler:
        for file in files:
            try:
                yield read_problem(file, compiler).task
            except UserError as error:
                yield BrokenTask(place=str(file), words=str(error))


def _files(path: Path, suffix: str) -> list[Path]:
    if path.is_file():
        return [path] if path.suffix == suffix else []
    found = (file for file in path.rglob(f"*{suffix}") if file.is_file())
    return sorted(file for file in found if not _is_hidden(file.relative_to(path)))


def _is_hidden(inside: Path) -> bool:
    return any(part.startswith(("_", ".")) for part in inside.parts)
