"""What the optimizer's episodes go on from: first kernels that the trained generator wrote, judged.

All episodes of a group go on from the same opening, so that they can be compared; which one is decided when
its task is drawn (`task_choice`). One that already earns the early stop is not used: it leaves the optimizer
nothing to do. Guaranteed: which visits are made and used follows from what the earlier ones gave, in the
order of their numbers, so that it does not matter how often a run was stopped in between. Not guaranteed:
that every task has one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from pydantic import Field, ValidationError

from coding_framework.monitoring.storage import RecordReader, keep_lines
from coding_framework.records import Conversation, ConversationTurn, Record

DRAWS = 4
"""So many times as many openings as are needed are played at most."""


class Opening(Record):
    """One visit of the generator to one task."""

    visit: int = Field(ge=0)
    """Its number."""
    task: str
    """Name of the task."""
    played: Conversation | None
    """What came of it; None where it was lost to a fault of the judge."""

    @property
    def is_open(self) -> bool:
        """Whether it leaves something to do."""
        return self.played is not None and self.played.stop_reason != "early_stop"

    @property
    def turns(self) -> tuple[ConversationTurn, ...]:
        """What an episode goes on from."""
        return self.played.turns if self.played is not None else ()


def read_openings(file: Path) -> dict[int, Opening]:
    """By visit; a line that was torn by a kill counts as not played."""
    return {one.visit: one for one in RecordReader(file, Opening)}


def forget_openings(file: Path, visits: Collection[int]) -> None:
    """Take back what is there of visits that will be made again; torn lines go as well."""

    def stays(line: bytes) -> bool:
        try:
            return Opening.model_validate_json(line).visit not in visits
        except ValidationError:
            return False

    keep_lines(file, stays)


def to_play(played: Mapping[int, Opening], needed: int, at_once: int) -> list[int]:
    """The visits that have to be made next, together; none when there are enough or the draws are used up.

    Batches of `at_once` are cut the same way however often a run was stopped. One that was played in part is
    named whole: a row is sampled alike only in the same batch.
    """
    found = begin = 0
    while found < needed and begin < DRAWS * needed:
        visits = range(begin, min(begin + needed - found, DRAWS * needed))
        batches = (visits[first : first + at_once] for first in range(0, len(visits), at_once))
        for batch in batches:
            if any(visit not in played for visit in batch):
                return list(batch)
        found += sum(played[visit].is_open for visit in visits)
        begin = visits.stop
    return []


def chosen(played: Mapping[int, Opening], needed: int) -> list[Opening]:
    """Those that are gone on from: the first `needed` that are open, or all where there are fewer."""
    return [played[visit] for visit in sorted(played) if played[visit].is_open][:needed]
