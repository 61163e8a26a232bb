"""The points of `metrics.jsonl` by their number, each line read once unless the file was replaced."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from pydantic import ValidationError

from coding_framework.monitoring.run_state import MetricPoint


class PointTail:
    """Keeps what was read and not yet taken; a line that is no point has no number."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._begin()

    def _begin(self) -> None:
        self._offset, self._last_line = 0, b""
        self._first, self._points = 0, list[MetricPoint]()

    def points(self, first: int, end: int) -> list[MetricPoint]:
        """Numbers `first` up to before `end`, as far as the file has them; earlier ones are forgotten."""
        self._read()
        if first < self._first:
            self._begin()
            self._read()
        del self._points[: first - self._first]
        self._first = max(first, self._first)
        return self._points[: end - first]

    def _read(self) -> None:
        if not self._path.exists():
            return
        with self._path.open("rb") as stream:
            if not self._is_where_it_was(stream):
                self._begin()
            stream.seek(self._offset)
            lines = stream.read().splitlines(keepends=True)
        for line in lines:
            if line.endswith(b"\n"):
                self._take(line)

    def _is_where_it_was(self, stream: BinaryIO) -> bool:
        """Whether the line that was read last still ends there: lines tell when they were written."""
        stream.seek(self._offset - len(self._last_line))
        return stream.read(len(self._last_line)) == self._last_line

    def _take(self, line: bytes) -> None:
        self._offset, self._last_line = self._offset + len(line), line
        try:
            self._points.append(MetricPoint.model_validate_json(line))
        except ValidationError:
            return
