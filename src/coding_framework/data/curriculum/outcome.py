"""What the curriculum remembers of an episode: did it compile, did it pass, how fast was it.

A fault of the judge is an exception and has no outcome; there is no way to write one down here.
"""

from __future__ import annotations

from pydantic import Field, model_validator

from coding_framework.records import Conversation, Evaluation, Record, TimeKind


class EpisodeOutcome(Record):
    """The best that an episode came to."""

    compiled: bool
    """Whether a kernel of it compiled."""
    passed: bool
    """Whether a kernel of it passed every check."""
    speedup: float | None = Field(default=None, gt=0)
    """Of the fastest that passed."""
    time_kind: TimeKind | None = None
    """What that speedup is made of."""

    @model_validator(mode="after")
    def _passed_if_and_only_if_timed(self) -> EpisodeOutcome:
        if self.passed and not self.compiled:
            raise ValueError("what passed has compiled")
        if {self.speedup is not None, self.time_kind is not None} != {self.passed}:
            raise ValueError("a speedup and its kind are given if and only if the episode passed")
        return self

    @classmethod
    def of(cls, evaluation: Evaluation) -> EpisodeOutcome:
        """Of one judged kernel."""
        timing = evaluation.timing
        return cls(
            compiled=evaluation.compiled or evaluation.passed,
            passed=evaluation.passed,
            speedup=timing.speedup if timing else None,
            time_kind=timing.kind if timing else None,
        )

    @classmethod
    def of_conversation(cls, conversation: Conversation) -> EpisodeOutcome:
        """Of several turns: the fastest of those that passed, else the furthest."""
        outcomes = [cls.of(turn.evaluation) for turn in conversation.own_turns]
        return max(outcomes, key=lambda outcome: (outcome.speedup or 0.0, outcome.compiled))


class Episode(Record):
    """An outcome with its task."""

    task: str
    """Name of the task."""
    outcome: EpisodeOutcome
    """What it came to."""


Recordable = Evaluation | Conversation | EpisodeOutcome


def outcome_of(result: Recordable) -> EpisodeOutcome:
    """The outcome of whatever was judged; anything else, an exception above all, is refused."""
    if isinstance(result, EpisodeOutcome):
        return result
    if isinstance(result, Conversation):
        return EpisodeOutcome.of_conversation(result)
    if isinstance(result, Evaluation):
        return EpisodeOutcome.of(result)
    raise TypeError(
        f"a {type(result).__name__} is no outcome: only what was judged is recorded; for a fault of the "
        f"judge call record_fault"
    )
