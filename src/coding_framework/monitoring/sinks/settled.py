"""How much of `metrics.jsonl` cannot be taken back any more, as `sinks.json` of the run folder.

`settled` counts points from the first line on: those that a checkpoint holds, with everything before. It
is written before any sink is told. A run may still take settled points back on purpose (SFT is extended,
so RL begins anew): then a new series begins, and the sinks get its points under another identity.
"""

from __future__ import annotations

import secrets
from pathlib import Path

from pydantic import Field, ValidationError

from coding_framework.monitoring.storage import write_whole
from coding_framework.records import Record

_FILE = "sinks.json"


class Settled(Record):
    """Everything in `sinks.json`."""

    identity: str = Field(default_factory=lambda: secrets.token_hex(4))
    """Of the run, wherever its folder lies."""
    series: int = Field(default=1, ge=1)
    """Raised whenever settled points were taken back."""
    settled: int = Field(default=0, ge=0)
    """So many points of `metrics.jsonl` stay as they are."""
    failed: dict[str, str] = Field(default_factory=dict)
    """Sinks that were switched off at the last start, and why."""

    @classmethod
    def read(cls, run: Path) -> Settled:
        """A fresh one where there is none, or one that nobody can read: that begins a new series."""
        try:
            return cls.model_validate_json((run / _FILE).read_bytes())
        except (FileNotFoundError, ValidationError):
            return cls()

    def write(self, run: Path) -> None:
        write_whole(run / _FILE, self.model_dump_json(indent=2))

    def of_series(self, name: str) -> tuple[str, str]:
        """Name and identity under which a sink holds it."""
        if self.series == 1:
            return name, self.identity
        return f"{name}-again{self.series - 1}", f"{self.identity}-{self.series}"


def has_settled(run: Path) -> bool:
    """Whether a sink was ever told of this run."""
    return (run / _FILE).is_file()


def begin_anew_if_settled(run: Path, first_dropped: int) -> None:
    """To be called before points from `first_dropped` on are taken out of `metrics.jsonl`."""
    state = Settled.read(run)
    if first_dropped < state.settled:
        state.model_copy(update={"series": state.series + 1, "settled": 0}).write(run)
