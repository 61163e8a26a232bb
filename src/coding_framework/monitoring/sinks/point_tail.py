"""The points of `metrics.jsonl` by their number, each line read once unless the file was replaced."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from coding_framework.monitoring.run_state import MetricPoint


class PointTail:
    """Keeps what was read and not yet taken; a line that is no point has no number."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._begin(0)

    def _begin(self, inode: int) -> None:
        self._inode, self._offset = inode, 0
        self._first, self._points = 0, list[MetricPoint]()

    def points(self, first: int, end: int) -> list[MetricPoint]:
        """Numbers `first` up to before `end`, as far as the file has them; earlier ones are forgotten."""
        self._read()
        if first < self._first:
            self._begin(0)
            self._read()
        del self._points[: first - self._first]
        self._first = max(first, self._first)
        return self._points[: end - first]

    def _read(self) -> None:
        if not self._path.exists():
            return
        with self._path.open("rb") as stream:
            inode = self._path.stat().st_ino
            if inode != self._inode:
                self._begin(inode)
            stream.seek(self._offset)
            data = stream.read()
        complete = data.rfind(b"\n") + 1
        self._offset += complete
        for line in data[:complete].splitlines():
            try:
                self._points.append(MetricPoint.model_validate_json(line))
            except ValidationError:
                continue
