"""What the lint says about a task."""

from __future__ import annotations

from pydantic import Field

from coding_framework.records import Record


class AdversaryResult(Record):
    """How far one way of not solving the task gets."""

    adversary: str
    """What it does, e.g. `copies x`."""
    checks_passed: int = Field(ge=0)
    """Checks that it passed in its best round; the timing shape is tried only after all others."""
    num_checks: int = Field(ge=1)
    """Checks of a full pass."""
    least_error_ratio: float = Field(ge=0)
    """Its largest error as a multiple of the budget, in its best round; it is rejected above 1."""

    @property
    def passed(self) -> bool:
        """Whether it got through every check, in which case the task is at fault."""
        return self.checks_passed == self.num_checks


class TaskDefect(Record):
    """One thing that is wrong with a task."""

    rule: str
    """Short name of the rule, e.g. `adversary` or `compulsory-bytes`."""
    words: str
    """What was seen, and what to change."""


class TaskLint(Record):
    """Everything the lint found out about one task."""

    task: str
    """Name of the task."""
    adversaries: tuple[AdversaryResult, ...]
    """Every adversary that applies to it."""
    defects: tuple[TaskDefect, ...]
    """What must change; empty for a sound task."""

    @property
    def passed(self) -> bool:
        return not self.defects

    @property
    def closest(self) -> AdversaryResult:
        """The adversary that the error budget keeps out by the least."""
        return min(self.adversaries, key=lambda result: (not result.passed, result.least_error_ratio))
