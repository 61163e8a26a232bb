"""What an offline run of wandb holds, read from its files.

wandb writes the log format of LevelDB: a header of 7 bytes, then records with checksum, length and kind,
cut where blocks of 32 KiB end; each holds one of wandb's own protobuf messages. The package has no reader
of it in Python. A record that is torn or does not fit its checksum ends the file.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_HEADER = struct.Struct("<4sHB")
_RECORD = struct.Struct("<IHB")
_MAGIC = b":W&B"
_BLOCK = 2**15
_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4


def last_step(folder: Path, identity: str) -> int:
    """The highest step that any start of this run wrote there; 0 for none."""
    return max((step for step, _ in history(folder, identity)), default=0)


def history(folder: Path, identity: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Step and values of each row of a run, in the order in which its starts wrote them."""
    for file in sorted(folder.glob(f"offline-run-*-{identity}/run-{identity}.wandb")):
        for message in _messages(file):
            if message.WhichOneof("record_type") == "history":
                yield _row(message.history)


def _messages(file: Path) -> Iterator[Any]:
    from wandb.proto.wandb_internal_pb2 import Record

    for data in _records(file.read_bytes()):
        message = Record()
        message.ParseFromString(data)
        yield message


def _row(row: Any) -> tuple[int, dict[str, Any]]:
    values = {item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in row.item}
    return int(values.pop("_step", row.step.num)), values


def _records(data: bytes) -> Iterator[bytes]:
    """The whole records of one file."""
    if len(data) < _HEADER.size or _HEADER.unpack_from(data)[0] != _MAGIC:
        return
    place, parts = _HEADER.size, b""
    while True:
        left = _BLOCK - place % _BLOCK
        if left < _RECORD.size:
            place += left
        if place + _RECORD.size > len(data):
            return
        checksum, length, kind = _RECORD.unpack_from(data, place)
        payload = data[place + _RECORD.size : place + _RECORD.size + length]
        if len(payload) < length or zlib.crc32(bytes([kind]) + payload) != checksum:
            return
        place += _RECORD.size + length
        parts = payload if kind in (_FULL, _FIRST) else parts + payload
        if kind in (_FULL, _LAST):
            yield parts
