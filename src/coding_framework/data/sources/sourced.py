"""A task with where it comes from."""

from __future__ import annotations

from dataclasses import dataclass

from coding_framework.data.sources.protocol import AnyTask

CATALOGUE = "catalogue"
"""The source that comes with the package."""
WORDS = (CATALOGUE, "kernelbench", "sakana")
"""What stands for a source whatever folders there are."""


@dataclass(frozen=True)
class SourcedTask:
    """A task of a source that is not the catalogue."""

    task: AnyTask
    source: str
    """As `tasks.sources` names it."""
    digest: str
    """Of what decides a verdict."""
