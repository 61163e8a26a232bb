"""Pairs in files: Parquet where pyarrow is installed, JSON lines everywhere.

Guarantees: a file that exists is whole, because it is written beside and renamed; every pair is
validated again when it is read, and a broken one is named by its line or row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from coding_framework.data.pair_records import SFTPair
from coding_framework.errors import MissingExtraError, UserError
from coding_framework.monitoring.storage import replacing, storage_errors

PARQUET = ".parquet"
_ROWS_AT_ONCE = 2000


def preferred_suffix() -> str:
    """What this installation can write best."""
    return PARQUET if find_spec("pyarrow") is not None else ".jsonl"


def write_pairs(path: Path, pairs: Iterable[SFTPair]) -> int:
    """Parquet or one JSON object a line, by the name's ending; returns how many.

    An interrupted write leaves the old file.
    """
    with storage_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as beside:
        return _write_parquet(beside, pairs) if path.suffix == PARQUET else _write_lines(beside, pairs)


def _write_lines(path: Path, pairs: Iterable[SFTPair]) -> int:
    count = 0
    with path.open("w", encoding="utf-8") as file:
        for pair in pairs:
            file.write(pair.model_dump_json() + "\n")
            count += 1
    return count


def _write_parquet(path: Path, pairs: Iterable[SFTPair]) -> int:
    arrow, parquet = _arrow()
    rows = [pair.model_dump(mode="json") for pair in pairs]
    schema = _schema(arrow)
    with parquet.ParquetWriter(path, schema, compression="zstd") as writer:
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            writer.write_table(arrow.Table.from_pylist(rows[start : start + _ROWS_AT_ONCE], schema=schema))
    return len(rows)


def _schema(arrow: Any) -> Any:
    """One column a field; the prompt as a list of messages, as chat templates take it."""
    message = arrow.struct([("role", arrow.string()), ("content", arrow.string())])
    types: dict[object, Any] = {float: arrow.float64(), int: arrow.int64()}
    columns = []
    for name, info in SFTPair.model_fields.items():
        kind = arrow.list_(message) if name == "messages" else types.get(info.annotation, arrow.string())
        columns.append(arrow.field(name, kind))
    return arrow.schema(columns)


def read_pairs(path: Path) -> tuple[SFTPair, ...]:
    """The pairs of a file, each validated again; raises `UserError` that names the line or row."""
    pairs = []
    place = "row" if path.suffix == PARQUET else "line"
    for number, row in enumerate(_rows(path), start=1):
        try:
            pairs.append(SFTPair.model_validate_json(row) if isinstance(row, str) else _from_row(row))
        except ValidationError as error:
            raise UserError(f"{path}, {place} {number}, is not a training pair: {error}") from error
    return tuple(pairs)


def _rows(path: Path) -> Iterator[str | dict[str, Any]]:
    if path.suffix == PARQUET:
        yield from _parquet_rows(path)
        return
    try:
        yield from path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise UserError(f"the pairs in {path} cannot be read: {error}") from error


def _parquet_rows(path: Path) -> Iterator[dict[str, Any]]:
    arrow, parquet = _arrow()
    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=_ROWS_AT_ONCE):
                yield from batch.to_pylist()
    except (OSError, arrow.ArrowException) as error:
        raise UserError(f"the pairs in {path} cannot be read: {error}") from error


def _from_row(row: dict[str, Any]) -> SFTPair:
    return SFTPair.model_validate({**row, "messages": tuple(row.get("messages") or ())})


def _arrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError("pyarrow", "train") from None
    return pyarrow, pyarrow.parquet
