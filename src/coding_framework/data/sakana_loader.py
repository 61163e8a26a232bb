"""`SakanaDataLoader`: kernels of the AI CUDA Engineer archive, from the hub or from files.

Guarantees: a bad row is counted and reported with its place, never fatal, and never handed out; the
order is fixed by seed and epoch and can be resumed at any position; memory is bounded. Times and
outcomes are the archive's own and are named so. Not guaranteed: that a kernel called correct is; only
the judge knows.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from coding_framework.data.archives.hidden_constants import derive_hidden_constants
from coding_framework.data.archives.hub import hub_shards, is_hub_name
from coding_framework.data.archives.order import ArchiveStream
from coding_framework.data.archives.passes import ArchivePasses
from coding_framework.data.archives.reading import Shard, find_shards
from coding_framework.data.archives.row_checks import REQUIRED_COLUMNS, check_row
from coding_framework.data.archives.rows import (
    ArchiveExample,
    ArchiveOutcome,
    ArchiveRow,
    Difficulty,
    Level,
)
from coding_framework.records import ModuleTask, Record

__all__ = ["ARCHIVE", "SPLITS", "ArchiveFilter", "SakanaDataLoader", "as_example"]

ARCHIVE = "SakanaAI/AI-CUDA-Engineer-Archive"
SPLITS = ("level_1", "level_2", "level_3")


class ArchiveFilter(Record):
    """Which rows are wanted; None: all of them."""

    levels: frozenset[Level] | None = None
    """KernelBench's levels."""
    outcomes: frozenset[ArchiveOutcome] | None = None
    """What the archive says of the kernel."""
    difficulties: frozenset[Difficulty] | None = None
    """Inferred tiers."""

    def wants(self, row: ArchiveRow) -> bool:
        return (
            (self.levels is None or row.level in self.levels)
            and (self.outcomes is None or row.outcome in self.outcomes)
            and (self.difficulties is None or row.difficulty in self.difficulties)
        )


class SakanaDataLoader:
    """Rows and training examples of the archive."""

    def __init__(
        self,
        source: str | Path = ARCHIVE,
        *,
        seed: int | None = 0,
        wanted: ArchiveFilter | None = None,
        deduplicate: bool = True,
        splits: tuple[str, ...] = SPLITS,
        cache_folder: Path | None = None,
        through_datasets: bool = False,
    ) -> None:
        """From a file or folder that exists, or else from the data set of that name on the hub.

        `seed=None` keeps the archive's order. `through_datasets` reads a local folder in the hub's layout
        with the same code as the hub. Raises `UserError` when a path is not there or holds no table.
        """
        self.source = str(source)
        hub = through_datasets or is_hub_name(source)
        self._passes = ArchivePasses(
            hub_shards(self.source, splits, REQUIRED_COLUMNS, cache_folder) if hub else _files(source),
            check_row,
            seed=seed,
            wants=(wanted or ArchiveFilter()).wants,
            content=_digest if deduplicate else None,
        )

    def rows(self, *, skip: int = 0, epoch: int = 0) -> ArchiveStream[ArchiveRow]:
        """Sound rows that are wanted, the first `skip` of them left out."""
        return ArchiveStream(lambda log: self._passes.chosen(log, epoch), self.source, skip)

    def examples(self, *, skip: int = 0, epoch: int = 0) -> ArchiveStream[ArchiveExample]:
        """The same rows, in the same order, as material for training."""
        return ArchiveStream(
            lambda log: (as_example(row) for row in self._passes.chosen(log, epoch)), self.source, skip
        )


def as_example(row: ArchiveRow) -> ArchiveExample:
    """A row as material for training."""
    return ArchiveExample(
        task=_module_task(row.level, row.op_name, row.module_source, row.difficulty),
        source=row.source,
        outcome=row.outcome,
        level=row.level,
        difficulty=row.difficulty,
        archive_timing=row.timing,
        error=row.error,
        digest=row.digest,
    )


@lru_cache(maxsize=512)
def _module_task(level: int, op_name: str, source: str, tier: int) -> ModuleTask:
    """The problem of a row; its name says that it is not today's KernelBench, whose sizes differ."""
    return ModuleTask(
        name=f"sakana_level{level}_{op_name.strip('_')}",
        source=source,
        hidden_constants=derive_hidden_constants(source),
        contract="extension",
        tier=tier,
        family=f"sakana_level{level}",
    )


def _files(source: str | Path) -> tuple[Shard, ...]:
    return find_shards(Path(source), REQUIRED_COLUMNS)


def _digest(row: ArchiveRow) -> str:
    return row.digest
