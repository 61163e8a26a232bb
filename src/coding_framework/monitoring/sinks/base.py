"""What a sink is: it says how many points it holds, and takes the next ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from coding_framework.config.monitoring import MonitoringConfig
from coding_framework.monitoring.run_state import MetricPoint


@dataclass(frozen=True)
class SinkPlace:
    """What a sink is opened with."""

    run: Path
    """The run folder; what a sink keeps on this machine belongs below it."""
    name: str
    """What people see: the folder's name, with the series behind it from the second one on."""
    identity: str
    """Never the same for two runs, nor for two series of one; the same after a resume."""
    settings: MonitoringConfig
    """The section of the config."""
    config_json: str
    """The resolved config, without its secret."""


class Sink(Protocol):
    """One destination of one series of points. Whatever it raises switches it off and stops nothing."""

    def held(self) -> int:
        """How many points it holds for good, from the first on: found by looking, not by remembering."""

    def write(self, first: int, points: Sequence[MetricPoint]) -> None:
        """Take these; the first of them is number `first` of the series, counted from 0."""

    def close(self) -> None:
        """Everything that was taken is kept when this returns."""


OpenSink = Callable[[SinkPlace], Sink]
"""What a name in `monitoring.sinks` stands for."""


def named_values(point: MetricPoint) -> dict[str, float]:
    """`rl/reward_mean` and so on: the phase is part of the name, since steps begin anew in each."""
    return {f"{point.phase}/{name}": value for name, value in point.values.items()}


def time_of(point: MetricPoint) -> datetime:
    """When it was recorded; now, where an earlier version did not write that down."""
    return point.recorded_at or datetime.now(UTC)
