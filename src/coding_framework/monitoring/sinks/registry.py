"""Which sink a name stands for, and what it needs. Loads none of the packages."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import entry_points

from coding_framework.errors import ConfigError
from coding_framework.monitoring.sinks.base import OpenSink
from coding_framework.monitoring.sinks.tensorboard_sink import open_tensorboard
from coding_framework.monitoring.sinks.trackio_sink import TrackioSink
from coding_framework.monitoring.sinks.wandb_sink import WandbSink

GROUP = "coding_framework.sinks"
"""Entry points of packages that bring a sink."""
OURS: dict[str, OpenSink] = {"tensorboard": open_tensorboard, "trackio": TrackioSink, "wandb": WandbSink}
"""Each needs the package of its name, of the extra `watch`."""


def find_sink(name: str) -> OpenSink:
    """What opens it; raises `ConfigError` for a name that stands for nothing."""
    if name in OURS:
        return OURS[name]
    found: object
    try:
        registered = [entry for entry in entry_points(group=GROUP) if entry.name == name]
        found = registered[0].load() if registered else _attribute(name)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"monitoring.sinks names `{name}`, which cannot be loaded: {error}") from error
    if not callable(found):
        raise ConfigError(f"monitoring.sinks names `{name}`, which cannot be called with a SinkPlace")
    opened: OpenSink = found
    return opened


def _attribute(name: str) -> object:
    module, _, attribute = name.partition(":")
    if not module or not attribute:
        known = sorted({*OURS, *(entry.name for entry in entry_points(group=GROUP))})
        raise ConfigError(
            f"monitoring.sinks names `{name}`, and there is no such sink: known are {', '.join(known)}, or "
            "say module:attribute"
        )
    found: object = getattr(import_module(module), attribute)
    return found
