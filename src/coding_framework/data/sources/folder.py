"""A folder of problems as a source: what `problem_folder.py` finds in it, one item a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from coding_framework.cuda.compiler import CUDACompiler
from coding_framework.data.problem_folder import FolderProblem, ProblemFolder
from coding_framework.data.sources.protocol import BrokenTask, TaskItem


class FolderSource:
    """One file or a folder of them."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def tasks(self) -> Iterator[TaskItem]:
        folder = ProblemFolder(self._path)
        with CUDACompiler() as compiler:
            for one in folder.read(compiler):
                if isinstance(one, FolderProblem):
                    yield one.task
                else:
                    yield BrokenTask(place=str(one.file), words=one.words)
