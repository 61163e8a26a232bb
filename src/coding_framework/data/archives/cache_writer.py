"""Writing the rows of a stream to one Parquet file, in row groups that are worth compressing.

Guarantees: at most a thousand rows wait in memory. Groups of 64 rows, as they arrive, made the file
fifteen times larger; so did the least and greatest text of every column that a group records.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from coding_framework.data.archives.reading import import_pyarrow

_GROUP_ROWS = 1024


class CacheWriter:
    """Collects tables of one schema and writes them."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._writer: Any = None
        self._waiting: list[Any] = []

    def add(self, table: Any) -> None:
        """Takes a table; writes when enough rows wait."""
        if self._writer is None:
            _, parquet = import_pyarrow()
            self._writer = parquet.ParquetWriter(
                self._path, table.schema, compression="zstd", write_statistics=False
            )
        self._waiting.append(table)
        if sum(waiting.num_rows for waiting in self._waiting) >= _GROUP_ROWS:
            self._write()

    def finish(self) -> bool:
        """Writes the rest; False where there was nothing at all, and so no file."""
        if self._writer is None:
            return False
        self._write()
        self._writer.close()
        return True

    def give_up(self) -> None:
        """Closes whatever is open; harmless after `finish`."""
        self._waiting = []
        if self._writer is not None:
            self._writer.close()

    def _write(self) -> None:
        if self._waiting:
            pyarrow, _ = import_pyarrow()
            self._writer.write_table(pyarrow.concat_tables(self._waiting))
            self._waiting = []
