"""Problems that lie about as Python files: one file, a folder, or a checkout of KernelBench.

Guarantees: files are only read. In a checkout (`level1` … below it or below `KernelBench`) nothing but the
levels is looked at; in any other folder every `.py` file that does not begin with `_` or `.`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from coding_framework.data.archives.problems import ProblemLog, RowProblem
from coding_framework.data.archives.reading import LocalShard, RawRow
from coding_framework.errors import UserError
from coding_framework.records import MAX_SOURCE_BYTES

_LEVEL = re.compile(r"level_?(\d+)")
_NUMBER = re.compile(r"(\d+)_")


class PythonShard(LocalShard):
    """Files below a folder; each is a row with the columns of the hub's data set."""

    def __init__(self, folder: Path, files: tuple[Path, ...]) -> None:
        self._folder = folder
        self._files = files

    @property
    def files(self) -> tuple[Path, ...]:
        """In the order in which they are read."""
        return self._files

    @property
    def name(self) -> str:
        return str(self._folder)

    def rows(self, log: ProblemLog) -> Iterator[RawRow]:
        for path in self._files:
            try:
                if path.stat().st_size > MAX_SOURCE_BYTES:
                    raise OSError(f"more than {MAX_SOURCE_BYTES} bytes")
                source = path.read_text("utf-8")
            except (OSError, UnicodeDecodeError) as error:
                words = f"cannot be read: {error}"
                log.add(RowProblem(kind="unreadable_file", file=str(path), words=words))
                continue
            log.rows_read += 1
            yield RawRow(self._columns(path, source), str(path), 1)

    def _columns(self, path: Path, source: str) -> dict[str, object]:
        level, number = _LEVEL.fullmatch(path.parent.name), _NUMBER.match(path.name)
        inside = path.relative_to(self._folder).with_suffix("")
        return {
            "code": source,
            "name": path.stem if level else "_".join(inside.parts),
            "level": int(level[1]) if level else None,
            "problem_id": int(number[1]) if number else None,
        }


def python_shard(path: Path) -> PythonShard:
    """Raises `UserError` when there is nothing to read."""
    if path.is_file():
        return PythonShard(path.parent, (path,))
    folders = _level_folders(path) or _level_folders(path / "KernelBench") or [path]
    files = tuple(file for folder in folders for file in _python_files(folder))
    if not files:
        raise UserError(f"{path} holds no Python file with a problem")
    return PythonShard(path, files)


def has_levels(path: Path) -> bool:
    """Whether it is a checkout of KernelBench, or laid out like one."""
    return bool(_level_folders(path) or _level_folders(path / "KernelBench"))


def _level_folders(path: Path) -> list[Path]:
    if not path.is_dir():
        return []
    return sorted(folder for folder in path.iterdir() if folder.is_dir() and _LEVEL.fullmatch(folder.name))


def _python_files(folder: Path) -> list[Path]:
    """In the order of their numbers, then of their names."""
    files = [
        file
        for file in folder.rglob("*.py")
        if file.is_file() and not any(p.startswith(("_", ".")) for p in file.relative_to(folder).parts)
    ]
    return sorted(files, key=_order)


def _order(file: Path) -> tuple[int, str]:
    number = _NUMBER.match(file.name)
    return (int(number[1]) if number else 0, str(file))
