"""The one place where a run goes on without the archive that it asked for, and says so.

Guarantees: a data set that cannot be reached (no network, no `datasets`) gives the synthetic catalogue
and a sentence that says why, for the first lines of the run and for its report. Every other fault is
raised: a path that does not exist or a name that the hub does not know is a mistake to be corrected,
not a reason to train on something else.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal

from coding_framework.data.kernelbench_loader import KernelBenchLoader
from coding_framework.data.sakana_loader import SakanaDataLoader
from coding_framework.data.tasks import all_tasks
from coding_framework.errors import NotAvailableError, UserError
from coding_framework.records import Task

ArchiveLoader = SakanaDataLoader | KernelBenchLoader
ArchiveKind = Literal["sakana", "kernelbench"]


@dataclass(frozen=True)
class OpenedSource:
    """What a run learns from, and the sentence that says so."""

    origin: Literal["archive", "catalogue"]
    sentence: str
    """For the first lines of the run and for its report."""
    loader: ArchiveLoader | None
    """The archive; None when the catalogue stands in."""
    tasks: tuple[Task, ...]
    """The catalogue; empty when the archive is there."""


def make_loader(
    kind: ArchiveKind, source: str | Path | None = None, *, seed: int | None = 0
) -> ArchiveLoader:
    """The loader of an archive; without a source, from the hub."""
    loader = SakanaDataLoader if kind == "sakana" else KernelBenchLoader
    return loader(seed=seed) if source is None else loader(source, seed=seed)


def open_archive_or_catalogue(
    kind: ArchiveKind = "sakana",
    source: str | Path | None = None,
    *,
    seed: int | None = 0,
    loader: ArchiveLoader | None = None,
) -> OpenedSource:
    """The archive if its first sound row can be read, or the catalogue if it cannot be reached.

    Raises `UserError` for a source that is there and holds no sound row, or is not there at all.
    """
    chosen = loader if loader is not None else make_loader(kind, source, seed=seed)
    try:
        stream = chosen.probe()
        first = next(islice(stream, 1), None)
    except NotAvailableError as error:
        return _catalogue(chosen.source, error)
    if first is None:
        raise UserError(f"nothing sound in it: {stream.report.sentence}")
    sentence = f"learning from {chosen.source} (times and outcomes in it are the archive's own)"
    return OpenedSource(origin="archive", sentence=sentence, loader=chosen, tasks=())


def _catalogue(source: str, error: NotAvailableError) -> OpenedSource:
    tasks = all_tasks()
    sentence = (
        f"the archive {source} is NOT used, the synthetic catalogue of {len(tasks)} tasks stands in for it: "
        f"{error}"
    )
    return OpenedSource(origin="catalogue", sentence=sentence, loader=None, tasks=tasks)
