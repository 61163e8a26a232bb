"""The words of verl's log that say why it ended."""

from __future__ import annotations

import re
from pathlib import Path

_TAIL_BYTES = 200_000
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_PREFIX = re.compile(r"^\([\w:.-]+ pid=\d+(?:, ip=[\d.]+)?\)\s*")
_ERROR = re.compile(r"^(?:\w+\.)*\w*(?:Error|Exception|Interrupt|Fault)\b.*")


def last_error(log: Path, limit: int = 600) -> str:
    """The last line that names an exception, or the last line of all."""
    if not log.is_file():
        return "it wrote no log"
    with log.open("rb") as stream:
        stream.seek(max(0, log.stat().st_size - _TAIL_BYTES))
        text = stream.read().decode(errors="replace")
    lines = [_PREFIX.sub("", _COLOUR.sub("", line)).strip() for line in text.splitlines()]
    lines = [line for line in lines if line]
    errors = [line for line in lines if _ERROR.match(line)]
    return (errors or lines or ["it wrote nothing"])[-1][:limit]
