"""TensorBoard: event files below `<run>/tensorboard/`, one for each batch of points.

A file is written beside and renamed, and its name says which points it holds. So what is there is whole,
a kill in between leaves nothing, and what is held can be read off the names. No torch, no tensorflow.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from coding_framework.monitoring.run_state import MetricPoint
from coding_framework.monitoring.sinks.base import SinkPlace, named_values, time_of
from coding_framework.monitoring.storage import replacing

_PREFIX = "events.out.tfevents."
_VERSION = "brain.Event:2"


class TensorBoardSink:
    """One folder of event files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def held(self) -> int:
        ends = [int(file.name.rpartition("-")[2]) for file in self._folder.glob(f"{_PREFIX}*-*")]
        return max(ends, default=0)

    def write(self, first: int, points: Sequence[MetricPoint]) -> None:
        from tensorboard.summary.writer.record_writer import RecordWriter

        # In the order of the points: TensorBoard reads the files by name and never goes back to an earlier.
        name = f"{_PREFIX}{first:010d}-{first + len(points):010d}"
        with replacing(self._folder / name) as beside, beside.open("wb") as stream:
            writer = RecordWriter(stream)
            for event in _events(points):
                writer.write(event.SerializeToString())

    def close(self) -> None:
        """Every file is whole already."""


def open_tensorboard(place: SinkPlace) -> TensorBoardSink:
    """A series that was taken back goes: TensorBoard would show both."""
    root = place.run / "tensorboard"
    for other in root.glob("*/"):
        if other.name != place.identity:
            shutil.rmtree(other)
    return TensorBoardSink(root / place.identity)


def _events(points: Sequence[MetricPoint]) -> Iterator[Any]:
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary

    yield Event(wall_time=time_of(points[0]).timestamp(), file_version=_VERSION)
    for point in points:
        values = [Summary.Value(tag=tag, simple_value=value) for tag, value in named_values(point).items()]
        yield Event(wall_time=time_of(point).timestamp(), step=point.step, summary=Summary(value=values))
