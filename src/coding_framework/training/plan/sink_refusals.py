"""Sinks that nobody knows, or whose package is missing."""

from __future__ import annotations

from collections.abc import Iterator

from coding_framework.config import FrameworkConfig
from coding_framework.errors import ConfigError
from coding_framework.monitoring.sinks.registry import OURS, find_sink
from coding_framework.training.plan.machine import Machine
from coding_framework.training.plan.refusals import Refusal


def sink_refusals(config: FrameworkConfig, machine: Machine) -> Iterator[Refusal]:
    """Of `monitoring.sinks`; a sink of another package is loaded to see that it is there."""
    for name in config.monitoring.sinks:
        try:
            find_sink(name)
        except ConfigError as error:
            yield Refusal("settings", str(error))
    missing = [name for name in config.monitoring.sinks if name in OURS and name not in machine.packages]
    if missing:
        yield Refusal(
            "machine",
            f"monitoring.sinks names {', '.join(missing)}, which {'is' if len(missing) == 1 else 'are'} not "
            "installed: run  pip install 'coding_framework[watch]'  (or `make setup`, which installs every "
            "extra), or leave it out",
        )
