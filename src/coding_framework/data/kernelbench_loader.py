"""`KernelBenchLoader`: problems stated as PyTorch modules, from the hub, a checkout or any Python file.

Guarantees: sources are read and never executed here; one that lacks `Model`, `get_inputs` or
`get_init_inputs` is reported and left out. Hidden shapes are derived from the source; whether they run is
only known with `verify_shapes` (or `verified_hidden_constants`), which executes the reference in a process
of its own. These are today's sizes: times of the AI CUDA Engineer archive are for other ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from coding_framework.data.archives.columns import Columns
from coding_framework.data.archives.difficulty import difficulty_of
from coding_framework.data.archives.hidden_constants import derive_hidden_constants
from coding_framework.data.archives.hub import hub_shards, is_hub_name
from coding_framework.data.archives.module_source import check_module_source
from coding_framework.data.archives.order import ArchiveStream
from coding_framework.data.archives.passes import ArchivePasses
from coding_framework.data.archives.problems import ProblemLog
from coding_framework.data.archives.python_files import python_shard
from coding_framework.data.archives.reading import TABLE_SUFFIXES, RawRow, Shard, find_shards
from coding_framework.data.archives.rows import Difficulty
from coding_framework.data.archives.verified_constants import with_verified_constants
from coding_framework.errors import UserError
from coding_framework.records import ModuleTask, Record

__all__ = ["KERNELBENCH", "SPLITS", "KernelBenchLoader", "KernelBenchProblem", "check_problem"]

KERNELBENCH = "ScalingIntelligence/KernelBench"
SPLITS = ("level_1", "level_2", "level_3", "level_4")
COLUMNS = ("code", "level", "name", "problem_id")


class KernelBenchProblem(Record):
    """One problem."""

    task: ModuleTask
    """What the judge takes."""
    level: int | None
    """1 to 4 in KernelBench, more in forks of it; None: a file that belongs to no level."""
    problem_id: int | None
    """Number within the level, where it has one."""
    difficulty: Difficulty
    """Inferred tier."""


class KernelBenchLoader:
    """Problems of KernelBench, or of files in its form."""

    def __init__(
        self,
        source: str | Path = KERNELBENCH,
        *,
        seed: int | None = None,
        levels: frozenset[int] | None = None,
        splits: tuple[str, ...] = SPLITS,
        cache_folder: Path | None = None,
        through_datasets: bool = False,
        verify_shapes: bool = False,
    ) -> None:
        """From a `.py` file, a folder of them, a checkout, tables, or else the hub's data set of that name.

        `seed=None` keeps the order of the levels. Raises `UserError` when a path is not there or empty.
        """
        self.source = str(source)
        hub = through_datasets or is_hub_name(source)
        self._verify_shapes = verify_shapes
        self._passes = ArchivePasses(
            hub_shards(self.source, splits, COLUMNS, cache_folder) if hub else _files(Path(source)),
            check_problem,
            seed=seed,
            wants=lambda problem: levels is None or problem.level in levels,
            content=lambda problem: problem.task.source,
        )

    def problems(self, *, skip: int = 0, epoch: int = 0) -> ArchiveStream[KernelBenchProblem]:
        """Sound problems, each source once, the first `skip` of them left out."""
        return ArchiveStream(lambda log: self._problems(log, epoch), self.source, skip)

    def tasks(self, *, skip: int = 0, epoch: int = 0) -> ArchiveStream[ModuleTask]:
        """The same as tasks for the judge, contract `module` or `extension`."""
        return ArchiveStream(lambda log: (p.task for p in self._problems(log, epoch)), self.source, skip)

    def _problems(self, log: ProblemLog, epoch: int) -> Iterator[KernelBenchProblem]:
        for problem in self._passes.chosen(log, epoch):
            if self._verify_shapes:
                yield problem.model_copy(update={"task": with_verified_constants(problem.task)})
            else:
                yield problem


def check_problem(raw: RawRow) -> KernelBenchProblem:
    """A row with the columns of the hub's data set as a problem; raises `RowError`."""
    columns = Columns(raw.columns, COLUMNS)
    source, name = columns.text("code"), columns.text("name")
    check_module_source(source, "code")
    level = None if raw.columns["level"] is None else columns.integer("level", 1, 99)
    number = None if raw.columns["problem_id"] is None else columns.integer("problem_id", 0, 100_000)
    plain = re.sub(r"[^\w.-]+", "_", name).strip("_")
    difficulty = difficulty_of(name, source, level)
    return KernelBenchProblem(
        task=ModuleTask(
            name=plain if level is None else f"kernelbench_level{level}_{plain}",
            source=source,
            hidden_constants=derive_hidden_constants(source),
            tier=difficulty,
            family="kernelbench" if level is None else f"kernelbench_level{level}",
        ),
        level=level,
        problem_id=number,
        difficulty=difficulty,
    )


def _files(path: Path) -> tuple[Shard, ...]:
    """A folder with tables is read as tables, any other for its Python files."""
    if not path.exists():
        raise UserError(f"there is no file or folder {path}")
    if path.suffix in TABLE_SUFFIXES or (path.is_dir() and _has_tables(path)):
        return find_shards(path, COLUMNS)
    if path.is_file() and path.suffix != ".py":
        raise UserError(f"{path} is neither a Python file nor a table ({', '.join(TABLE_SUFFIXES)})")
    return (python_shard(path),)


def _has_tables(folder: Path) -> bool:
    return any(file.suffix in TABLE_SUFFIXES for file in folder.rglob("*")) and not any(
        folder.rglob("level1/*.py")
    )
