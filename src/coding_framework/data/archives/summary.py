"""What an archive holds, counted in one pass; and which of the two archives a source is.

Guarantees: the counts are of sound rows, each content once, and come with the report of the rest.
"""

from __future__ import annotations

from collections import Counter
from itertools import islice
from pathlib import Path

from coding_framework.data.archives.hub import is_hub_name
from coding_framework.data.archives.loaders import ArchiveKind, ArchiveLoader, make_loader
from coding_framework.data.archives.problems import LoadReport, ProblemLog
from coding_framework.data.archives.reading import TABLE_SUFFIXES, find_shards
from coding_framework.data.archives.rows import OUTCOMES
from coding_framework.data.kernelbench_loader import COLUMNS, KernelBenchLoader
from coding_framework.records import Record

_SHORT_NAMES: dict[str, ArchiveKind] = {"sakana": "sakana", "kernelbench": "kernelbench"}


class TierCounts(Record):
    """Sound rows of one tier."""

    difficulty: int
    """The inferred tier."""
    outcomes: dict[str, int]
    """Rows by what the archive says of them; `problem` for problems without an answer."""

    @property
    def total(self) -> int:
        return sum(self.outcomes.values())


class ArchiveSummary(Record):
    """Everything that `cuda-rl data show` says."""

    kind: ArchiveKind
    """Which schema was applied."""
    outcomes: dict[str, int]
    """Of all tiers together."""
    levels: dict[str, int]
    """By level; `none` for files that belong to no level."""
    tiers: tuple[TierCounts, ...]
    """In order, tiers with no row left out."""
    tasks: int
    """Different problems."""
    tasks_with_hidden_shapes: int
    """Of these, with at least one derived hidden shape."""
    report: LoadReport
    """Counts of all rows and what was wrong."""


def archive_kind(source: str) -> ArchiveKind:
    """`sakana`, `kernelbench`, a name on the hub, or a path whose first row tells by its columns."""
    if source in _SHORT_NAMES:
        return _SHORT_NAMES[source]
    if is_hub_name(source):
        return "kernelbench" if "kernelbench" in source.lower() else "sakana"
    path = Path(source)
    if path.is_dir() and not any(file.suffix in TABLE_SUFFIXES for file in path.rglob("*")):
        return "kernelbench"
    if path.is_file() and path.suffix == ".py":
        return "kernelbench"
    shards = find_shards(path, (*COLUMNS, "CUDA_Code"))
    rows = (row for shard in shards for row in shard.rows(ProblemLog(source)))
    columns = {name for row in islice(rows, 1) for name in row.columns}
    return "kernelbench" if "code" in columns and "CUDA_Code" not in columns else "sakana"


def summarize(source: str) -> ArchiveSummary:
    """Go through a source once and count; raises what its loader raises."""
    kind = archive_kind(source)
    return summarize_loader(make_loader(kind, None if source in _SHORT_NAMES else source, seed=None), kind)


def summarize_loader(loader: ArchiveLoader, kind: ArchiveKind) -> ArchiveSummary:
    """The same for a loader that is there already."""
    cells: Counter[tuple[int, str]] = Counter()
    levels: Counter[str] = Counter()
    hidden: dict[str, bool] = {}
    stream = loader.problems() if isinstance(loader, KernelBenchLoader) else loader.examples()
    for item in stream:
        cells[item.difficulty, getattr(item, "outcome", "problem")] += 1
        levels["none" if item.level is None else str(item.level)] += 1
        hidden[item.task.name] = bool(item.task.hidden_constants)
    return ArchiveSummary(
        kind=kind,
        outcomes={o: sum(n for (_, other), n in cells.items() if other == o) for o in _outcomes(cells)},
        levels=dict(sorted(levels.items())),
        tiers=tuple(
            TierCounts(difficulty=tier, outcomes={o: cells[tier, o] for o in _outcomes(cells)})
            for tier in sorted({tier for tier, _ in cells})
        ),
        tasks=len(hidden),
        tasks_with_hidden_shapes=sum(hidden.values()),
        report=stream.report,
    )


def _outcomes(cells: Counter[tuple[int, str]]) -> list[str]:
    present = {outcome for _, outcome in cells}
    return [outcome for outcome in (*OUTCOMES, "problem") if outcome in present]
