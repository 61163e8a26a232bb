"""One sample of an evaluation: what every figure is made of, without texts and tokens."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from coding_framework.records.base import Record
from coding_framework.records.conversation import AgentRole, Conversation, ConversationTurn
from coding_framework.records.evaluation import Gate, ShapeKind, Verdict
from coding_framework.records.measurement import TimeKind

TaskSplit = Literal["held_out", "trained", "suite"]
"""Never seen in training, seen in training, or from a folder, of which nobody here knows."""

_BEHIND_THE_COMPILER = (Gate.RUN, Gate.CHECK, Gate.TIME)
"""Host code is compiled where it runs, and leaves no record of it."""


class SampleTurn(Record):
    """What became of one answer."""

    agent: AgentRole
    """Who answered."""
    verdict: Verdict
    """The judge's verdict."""
    compiled: bool
    """Whether the kernel compiled."""
    failed_on: ShapeKind | None = None
    """As in `Evaluation.failed_on`."""
    speedup: float | None = Field(default=None, gt=0)
    """Over the reference; only of a kernel that passed."""
    time_kind: TimeKind | None = None
    """What the speedup is made of."""
    device: str | None = None
    """The card that was measured or modelled."""
    candidate: str | None = None
    """Digest of the kernel's text; None for an answer without one."""

    @model_validator(mode="after")
    def _passed_if_and_only_if_timed(self) -> SampleTurn:
        given = {value is not None for value in (self.speedup, self.time_kind, self.device)}
        if given != {self.passed}:
            raise ValueError("a turn has a speedup, with its kind and its card, if and only if it passed")
        return self

    @property
    def passed(self) -> bool:
        return self.verdict is Verdict.PASSED

    @property
    def passed_visible_shapes(self) -> bool:
        """Whether it was right on everything that its author could know of."""
        return self.failed_on == "hidden" or self.verdict.gate is Gate.TIME

    @classmethod
    def of(cls, turn: ConversationTurn) -> SampleTurn:
        """The turn without its texts."""
        evaluation = turn.evaluation
        timing, candidate = evaluation.timing, evaluation.candidate
        return cls(
            agent=turn.agent,
            verdict=evaluation.verdict,
            compiled=evaluation.compiled or evaluation.verdict.gate in _BEHIND_THE_COMPILER,
            failed_on=evaluation.failed_on,
            speedup=timing.speedup if timing else None,
            time_kind=timing.kind if timing else None,
            device=timing.device if timing else None,
            candidate=candidate.digest if candidate else None,
        )


class EvaluationSample(Record):
    """One episode of one task."""

    model: str
    """Which model, by its label in the evaluation."""
    task: str
    """Name of the task."""
    tier: int = Field(ge=0, le=3)
    """Its tier; of a KernelBench problem the inferred one."""
    family: str
    """Its family; of problems from a folder `user` or `kernelbench…`."""
    split: TaskSplit
    """Whether training saw it."""
    seed: int
    """Seed of the sampling."""
    number: int = Field(ge=0)
    """Which of the task's samples."""
    turns: tuple[SampleTurn, ...] = Field(min_length=1)
    """In order."""
    conversation_id: str
    """The whole episode in `conversations.jsonl`."""

    @property
    def key(self) -> tuple[str, int]:
        """What it is stored under."""
        return (self.task, self.number)

    @property
    def best_turn(self) -> SampleTurn:
        """The fastest kernel that passed; without one the first turn that compiled, or the first."""
        return max(self.turns, key=lambda turn: (turn.passed, turn.speedup or 0.0, turn.compiled))

    @classmethod
    def of(
        cls,
        conversation: Conversation,
        *,
        model: str,
        tier: int,
        family: str,
        split: TaskSplit,
        seed: int,
        number: int,
    ) -> EvaluationSample:
        """What is counted of a finished episode."""
        return cls(
            model=model,
            task=conversation.task,
            tier=tier,
            family=family,
            split=split,
            seed=seed,
            number=number,
            turns=tuple(SampleTurn.of(turn) for turn in conversation.turns),
            conversation_id=conversation.conversation_id,
        )
