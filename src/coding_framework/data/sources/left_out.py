"""What a comparison with the held-out tasks found."""

from __future__ import annotations

from pydantic import Field

from coding_framework.records import Record


class LeftOut(Record):
    """A task that was asked for and is not trained on: it computes what is held out."""

    task: str
    """Its name."""
    source: str
    """As `tasks.sources` names it."""
    why: str
    """In words."""


class Overlap(Record):
    """Of all tasks that were asked for."""

    left_out: tuple[LeftOut, ...] = ()
    """In the order in which they were asked for."""
    by_text_alone: dict[str, str] = Field(default_factory=dict)
    """Modules that could not be run here, with the reason: what they compute was not compared."""
