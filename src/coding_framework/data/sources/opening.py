"""From a word in `tasks.sources` to the source that it names.

Guarantees: opening reads nothing but what tells one kind from another; a path that is not there and a name
that leads nowhere are `UserError`s that say what could have been meant.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from importlib.metadata import entry_points
from pathlib import Path

from coding_framework.data.archives.hub import is_hub_name
from coding_framework.data.archives.python_files import has_levels
from coding_framework.data.archives.reading import TABLE_SUFFIXES
from coding_framework.data.archives.summary import archive_kind
from coding_framework.data.sources.archives import KernelBenchSource, SakanaSource
from coding_framework.data.sources.folder import FolderSource
from coding_framework.data.sources.own import GROUP, OwnSource
from coding_framework.data.sources.protocol import TaskSource
from coding_framework.data.sources.sourced import CATALOGUE, WORDS
from coding_framework.data.tasks import all_tasks
from coding_framework.errors import UserError
from coding_framework.records import Task

KINDS = (
    "`catalogue`, `kernelbench`, `sakana`, a data set of the hub (OWNER/NAME), a file or folder that exists, "
    "`module:attribute`, or an entry point of the group coding_framework.tasks"
)


class CatalogueSource:
    """The tasks that come with the package."""

    def tasks(self) -> Iterator[Task]:
        yield from all_tasks()


def open_source(named: str) -> TaskSource:
    """The source of that name."""
    if named == CATALOGUE:
        return CatalogueSource()
    if named in WORDS:
        return KernelBenchSource() if named == "kernelbench" else SakanaSource()
    path = Path(named).expanduser()
    if path.exists():
        return _of_path(path)
    if is_hub_name(named):
        return KernelBenchSource(named) if archive_kind(named) == "kernelbench" else SakanaSource(named)
    if ":" not in named and named not in entry_points(group=GROUP).names:
        raise UserError(_nothing(named))
    return OwnSource(named)


def _nothing(named: str) -> str:
    if "/" in named or Path(named).suffix in (*TABLE_SUFFIXES, ".cu", ".py"):
        return f"tasks.sources names {named}, but there is no such file or folder (give {KINDS})"
    known = (*WORDS, *entry_points(group=GROUP).names)
    close = get_close_matches(named, known, n=1)
    hint = f" (did you mean {close[0]}?)" if close else ""
    return f"tasks.sources names {named}, which is nothing that is known here{hint}: give {KINDS}"


def _of_path(path: Path) -> TaskSource:
    is_table = path.suffix in TABLE_SUFFIXES if path.is_file() else _has_tables(path)
    if not is_table:
        return FolderSource(path)
    return KernelBenchSource(path) if archive_kind(str(path)) == "kernelbench" else SakanaSource(path)


def _has_tables(folder: Path) -> bool:
    return not has_levels(folder) and any(file.suffix in TABLE_SUFFIXES for file in folder.rglob("*"))
