"""How a training is watched: where its numbers also go, and how often the machine is looked at."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from coding_framework.records.base import Record


class MonitoringConfig(Record):
    """Nothing here changes what is trained; all of it may change when a run is taken up again."""

    sinks: tuple[str, ...] = ()
    """Where the numbers of `metrics.jsonl` also go: `tensorboard`, `wandb`, `trackio`, the name that another
    package registered under `coding_framework.sinks`, or `module:attribute`."""
    project: str = Field(default="coding_framework", min_length=1)
    """The project's name in wandb and trackio."""
    wandb_mode: Literal["offline", "online"] = "offline"
    """`offline` writes below the run folder, for `wandb sync`; `online` also sends it to the server."""
    wandb_entity: str | None = None
    """Team or user on that server; None: the account's own."""
    sample_every_s: float = Field(default=5, gt=0, le=600)
    """Seconds between two looks at cores, memory and GPUs."""

    @model_validator(mode="after")
    def _each_sink_once(self) -> MonitoringConfig:
        twice = sorted({name for name in self.sinks if self.sinks.count(name) > 1})
        if twice:
            raise ValueError(f"monitoring.sinks names {', '.join(twice)} twice")
        return self
