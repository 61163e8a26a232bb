"""trackio: a SQLite file for each project, in `trackio/` beside the run folders (or `TRACKIO_DIR`).

A batch of points is one transaction, and each point has a name of its own that can be there once. Written
through trackio's storage, not through `trackio.init`, which prints, keeps points in memory and sends them
from a thread. It stays on this machine: no Space is named.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

from coding_framework.monitoring.run_state import MetricPoint
from coding_framework.monitoring.sinks.base import SinkPlace, named_values, time_of


class TrackioSink:
    """One run of a trackio project."""

    def __init__(self, place: SinkPlace) -> None:
        self._place = place
        self._project = place.settings.project
        self._storage = _storage(place)

    def held(self) -> int:
        return int(self._storage.get_log_count(self._project, run_id=self._place.identity))

    def write(self, first: int, points: Sequence[MetricPoint]) -> None:
        identity = self._place.identity
        self._storage.bulk_log(
            self._project,
            self._place.name,
            [named_values(point) for point in points],
            steps=[point.step for point in points],
            timestamps=[time_of(point).isoformat() for point in points],
            config=json.loads(self._place.config_json) if not first else None,
            log_ids=[f"{identity}-{first + index}" for index in range(len(points))],
            run_id=identity,
        )

    def close(self) -> None:
        """Every batch is committed already."""


def _storage(place: SinkPlace) -> Any:
    """trackio reads where it stores once, when it is imported."""
    os.environ.setdefault("TRACKIO_DIR", str(place.run.parent / "trackio"))
    from trackio.sqlite_storage import SQLiteStorage

    return SQLiteStorage
