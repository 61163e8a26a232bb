"""Rows out of JSON Lines and Parquet files, one after another, in bounded memory.

Guarantees: nothing here raises for the contents of a file: a line that is not JSON, a damaged row
group, bytes that are not text, a file that cannot be opened are reported to the log and the rest is
read. At most one line (JSON Lines) or one batch of rows (Parquet) is held. It does not know what the
columns mean.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from coding_framework.data.archives.problems import ProblemKind, ProblemLog, RowProblem
from coding_framework.errors import MissingExtraError, UserError

MAX_LINE_BYTES = 16 << 20
"""The longest row of the archive's subset has 60 kB."""
BATCH_ROWS = 64
"""Rows of a Parquet file that are turned into Python values at a time; a row has some ten kB."""
TEXT_SUFFIXES = (".jsonl", ".ndjson")
TABLE_SUFFIXES = (*TEXT_SUFFIXES, ".parquet")


@dataclass(frozen=True, slots=True)
class RawRow:
    """One row before anything is known about it."""

    columns: Mapping[str, object]
    file: str
    number: int


class Shard(Protocol):
    """One file, or one split of a data set on the hub."""

    @property
    def name(self) -> str:
        """For messages."""

    def check(self) -> None:
        """Raises `NotAvailableError` where `rows` would, as far as can be told without reading them."""

    def rows(self, log: ProblemLog) -> Iterator[RawRow]:
        """Every readable row, counted in the log; what is not readable goes there too."""


def find_shards(path: Path, columns: Iterable[str]) -> tuple[Shard, ...]:
    """The file, or every table in the folder and below in the order of their names.

    Raises `UserError` when there is none.
    """
    if not path.exists():
        raise UserError(f"there is no file or folder {path}")
    files = [path] if path.is_file() else sorted(_visible_files(path))
    tables = [file for file in files if file.suffix in TABLE_SUFFIXES]
    if not tables:
        raise UserError(f"{path} holds no table: expected files ending in {', '.join(TABLE_SUFFIXES)}")
    wanted = tuple(columns)
    return tuple(JsonLinesShard(f) if f.suffix in TEXT_SUFFIXES else ParquetShard(f, wanted) for f in tables)


def _visible_files(folder: Path) -> Iterator[Path]:
    """Hidden files and folders are other tools' (caches, partial downloads)."""
    for file in folder.rglob("*"):
        if file.is_file() and not any(part.startswith(".") for part in file.relative_to(folder).parts):
            yield file


class LocalShard:
    """What lies on this machine can be read, or is reported when it cannot."""

    def check(self) -> None:
        """Nothing to ask for."""


class JsonLinesShard(LocalShard):
    """A file with one JSON object a line."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def name(self) -> str:
        return str(self._path)

    def rows(self, log: ProblemLog) -> Iterator[RawRow]:
        try:
            stream = self._path.open("rb")
        except OSError as error:
            log.add(_unreadable(self.name, error))
            return
        with stream:
            number = 0
            try:
                for line in _lines(stream):
                    number += 1
                    if line is None or line.strip():
                        yield from self._row(line, number, log)
            except OSError as error:
                log.add(_unreadable(self.name, error, row=number + 1))

    def _row(self, line: bytes | None, number: int, log: ProblemLog) -> Iterator[RawRow]:
        log.rows_read += 1
        if line is None:
            log.add(self._problem("oversized", number, f"a line of more than {MAX_LINE_BYTES} bytes"))
            return
        try:
            value = json.loads(line.decode("utf-8"))
        except UnicodeDecodeError as error:
            log.add(self._problem("broken_text", number, f"not UTF-8: {error}"))
        except (ValueError, RecursionError) as error:
            log.add(self._problem("broken_json", number, f"not JSON: {error}"))
        else:
            if isinstance(value, dict):
                yield RawRow(value, self.name, number)
            else:
                words = f"a row must be an object, this is a {type(value).__name__}"
                log.add(self._problem("wrong_type", number, words))

    def _problem(self, kind: ProblemKind, number: int, words: str) -> RowProblem:
        return RowProblem(kind=kind, file=self.name, row=number, words=words)


def _lines(stream: BinaryIO) -> Iterator[bytes | None]:
    """Every line; None for one that is too long to be held."""
    while line := stream.readline(MAX_LINE_BYTES + 1):
        if len(line) <= MAX_LINE_BYTES or line.endswith(b"\n"):
            yield line
            continue
        while rest := stream.readline(MAX_LINE_BYTES):
            if rest.endswith(b"\n"):
                break
        yield None


class ParquetShard(LocalShard):
    """A Parquet file; a damaged row group costs its own rows from the damage on, not the file."""

    def __init__(self, path: Path, columns: Iterable[str]) -> None:
        self._path = path
        self._columns = tuple(columns)

    @property
    def name(self) -> str:
        return str(self._path)

    def check(self) -> None:
        import_pyarrow()

    def rows(self, log: ProblemLog) -> Iterator[RawRow]:
        pyarrow, parquet = import_pyarrow()
        try:  # a buffered reader: a column chunk is not held as a whole, however large the row group is
            file = parquet.ParquetFile(self._path, pre_buffer=False, buffer_size=1 << 20)
        except (OSError, pyarrow.ArrowException) as error:
            log.add(_unreadable(self.name, error))
            return
        with closing(file):
            names = [column for column in self._columns if column in file.schema_arrow.names]
            first = 1
            for group in range(file.num_row_groups):
                number = first
                try:
                    for batch in file.iter_batches(BATCH_ROWS, row_groups=[group], columns=names):
                        yield from table_rows(batch, self.name, number, log)
                        number += batch.num_rows
                except (OSError, pyarrow.ArrowException) as error:
                    log.add(_unreadable(self.name, error, row=number))
                first += file.metadata.row_group(group).num_rows


def table_rows(batch: Any, name: str, first: int, log: ProblemLog) -> Iterator[RawRow]:
    """The rows of an Arrow table or batch as Python values."""
    try:
        values = batch.to_pylist()
    except UnicodeDecodeError:
        values = [None] * batch.num_rows
    for offset, value in enumerate(values):
        log.rows_read += 1
        number = first + offset
        try:
            row = value if value is not None else batch.slice(offset, 1).to_pylist()[0]
        except UnicodeDecodeError as error:
            log.add(RowProblem(kind="broken_text", file=name, row=number, words=f"not UTF-8: {error}"))
        else:
            yield RawRow(row, name, number)


def import_pyarrow() -> tuple[Any, Any]:
    """`pyarrow` and `pyarrow.parquet`, late: they come with the extra `train`."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtraError("pyarrow", "train") from error
    return pyarrow, pyarrow.parquet


def _unreadable(name: str, error: Exception, row: int | None = None) -> RowProblem:
    reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return RowProblem(kind="unreadable_file", file=name, row=row, words=f"cannot be read: {reason}")
