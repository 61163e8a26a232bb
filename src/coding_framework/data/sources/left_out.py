"""A task that was asked for and is not trained on."""

from __future__ import annotations

from coding_framework.records import Record


class LeftOut(Record):
    """A task that computes what is held out."""

    task: str
    """Its name."""
    source: str
    """As `tasks.sources` names it."""
    why: str
    """In words."""
