"""Data sets of the Hugging Face hub, streamed once and kept.

Guarantees: rows arrive in batches while the split is still being fetched, and are written to the
cache as they pass; the cached file appears under its name only when the split came to its end, and
the next pass reads it without the network. A hub that cannot be reached raises before the first row,
within seconds; one that stops answering later is reported and ends that split. Not guaranteed: that
the cache follows changes of the data set; remove its folder to fetch again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from coding_framework.data.archives.cache_writer import CacheWriter
from coding_framework.data.archives.problems import ProblemLog, RowProblem
from coding_framework.data.archives.reading import (
    BATCH_ROWS,
    TABLE_SUFFIXES,
    ParquetShard,
    RawRow,
    Shard,
    table_rows,
)
from coding_framework.errors import DatasetUnreachableError, MissingExtraError, UserError
from coding_framework.monitoring.storage import storage_errors

CACHE_VARIABLE = "CODING_FRAMEWORK_CACHE"
_FILES = (*TABLE_SUFFIXES, ".py")
_PROBE_TIMEOUT_S = 10.0
"""One request without repetition; the data set library itself takes 23 s to give up offline."""


def hub_shards(
    name: str, splits: Iterable[str], columns: Iterable[str], cache_folder: Path | None = None
) -> tuple[Shard, ...]:
    """A shard for every split of a data set: its name on the hub, or a folder in the hub's layout."""
    folder = (cache_folder or default_cache_folder()) / re.sub(r"[^\w.-]+", "--", name).strip("-")
    return tuple(HubShard(name, split, tuple(columns), folder / f"{split}.parquet") for split in splits)


def is_hub_name(source: str | Path) -> bool:
    """`owner/name` that is not a path here; anything else that does not exist is a mistyped path."""
    if isinstance(source, Path) or Path(source).exists():
        return False
    return (
        re.fullmatch(r"[\w-][\w.-]*/[\w-][\w.-]*", source) is not None and Path(source).suffix not in _FILES
    )


def default_cache_folder() -> Path:
    """Where streamed splits are kept; `CODING_FRAMEWORK_CACHE` moves it."""
    import platformdirs

    root = os.environ.get(CACHE_VARIABLE) or platformdirs.user_cache_dir("coding_framework")
    return Path(root) / "datasets"


class HubShard:
    """One split."""

    def __init__(self, data_set: str, split: str, columns: tuple[str, ...], cached: Path) -> None:
        self._data_set = data_set
        self._split = split
        self._columns = columns
        self._cached = cached

    @property
    def name(self) -> str:
        return f"{self._data_set}/{self._split}"

    def check(self) -> None:
        if not self._cached.exists():
            check_reachable(self._data_set)

    def rows(self, log: ProblemLog) -> Iterator[RawRow]:
        if self._cached.exists():
            yield from ParquetShard(self._cached, self._columns).rows(log)
            return
        number = 1
        for table in self._kept(self._tables(log)):
            yield from table_rows(table, self.name, number, log)
            number += table.num_rows

    def _tables(self, log: ProblemLog) -> Iterator[Any]:
        """Arrow tables of some rows each; a failure before the first is raised, a later one reported."""
        tables = open_stream(self._data_set, self._split, self._columns)
        fetched = 0
        while True:
            try:
                table = next(tables, None)
            except Exception as error:  # whatever the network, the file system or the reader raise
                if fetched == 0:
                    raise _unstreamable(self.name, error) from error
                words = f"the stream broke off: {_first_line(error)}"
                log.add(RowProblem(kind="broken_stream", file=self.name, row=fetched + 1, words=words))
                raise _BrokeOff from error
            if table is None:
                return
            fetched += table.num_rows
            yield table

    def _kept(self, tables: Iterator[Any]) -> Iterator[Any]:
        """The same tables, written to the cache as they pass; kept only when all of them came."""
        with storage_errors(self._cached):
            self._cached.parent.mkdir(parents=True, exist_ok=True)
        partial = self._cached.with_name(f".{self._cached.name}.{os.getpid()}.{id(self)}.tmp")
        writer = CacheWriter(partial)
        try:
            for table in tables:
                with storage_errors(self._cached):
                    writer.add(table)
                yield table
            with storage_errors(self._cached):
                if writer.finish():
                    partial.replace(self._cached)
        except _BrokeOff:
            return
        finally:
            writer.give_up()
            partial.unlink(missing_ok=True)


class _BrokeOff(Exception):
    """The stream ended before its end; reported already."""


def open_stream(data_set: str, split: str, columns: tuple[str, ...]) -> Iterator[Any]:
    """Arrow tables of `BATCH_ROWS` rows, fetched as they are asked for."""
    datasets = _import_datasets()
    check_reachable(data_set)
    try:
        stream = datasets.load_dataset(data_set, split=split, streaming=True)
    except Exception as error:
        if re.match(r"(bad|unknown) split", str(error), re.IGNORECASE):  # a plain ValueError, as others are
            raise UserError(f"{data_set} has no split {split}: {_first_line(error)}") from error
        raise _unstreamable(f"{data_set}/{split}", error) from error
    if stream.column_names:
        stream = stream.select_columns([name for name in columns if name in stream.column_names])
    return iter(stream.with_format("arrow").iter(batch_size=BATCH_ROWS))


def check_reachable(data_set: str) -> None:
    """One short request; raises `DatasetUnreachableError`, or `UserError` for a name that does not exist."""
    if Path(data_set).exists():
        return
    _import_datasets()
    from huggingface_hub import HfApi
    from huggingface_hub.errors import RepositoryNotFoundError

    try:
        HfApi().dataset_info(data_set, timeout=_PROBE_TIMEOUT_S)
    except RepositoryNotFoundError as error:
        raise UserError(f"the hub has no data set {data_set}: {_first_line(error)}") from error
    except Exception as error:
        raise _unreachable(data_set, error) from error


def _import_datasets() -> Any:
    try:
        import datasets
    except ImportError as error:
        raise MissingExtraError("datasets", "train") from error
    return datasets


def _unreachable(name: str, error: Exception) -> DatasetUnreachableError:
    return DatasetUnreachableError(
        f"the data set {name} cannot be reached ({type(error).__name__}: {_first_line(error)}), nor is there "
        "a file or folder of that name here: connect to the network, or fetch its files elsewhere and give "
        "their folder instead of the name"
    )


def _unstreamable(name: str, error: Exception) -> DatasetUnreachableError:
    return DatasetUnreachableError(
        f"the data set {name} answers, but its rows cannot be read ({type(error).__name__}: "
        f"{_first_line(error)}): try again, or fetch its files elsewhere and give their folder"
    )


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or ["no words"])[0]
