"""The running summary of a conversation: what was tried, what it gave, what is best so far.

Guarantee: everything here is derived from the turns, so it can never disagree with them; there is no
second book that a killed process could leave half written.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from coding_framework.agents.strategies import StrategyOutcome, outcomes_of
from coding_framework.records import Candidate, ConversationTurn, Evaluation, Record


class CompileOutcome(Record):
    """What became of one candidate at the compiler."""

    turn: int = Field(ge=0)
    """Where it came first."""
    compiled: bool
    """Whether there is a binary; false also for what the compiler never saw."""
    words: str
    """The first error, or the kernels that it holds."""


class CUDAConversationState(Record):
    """What a conversation has tried so far."""

    task: str
    """Name of the task."""
    compilation_cache: dict[str, CompileOutcome] = Field(default_factory=dict)
    """Digest of each candidate → what the compiler said; a repeated answer is known by it."""
    performance_trajectory: tuple[float | None, ...]
    """Speedup of each turn; None where it did not pass."""
    failed_attempts: tuple[str, ...]
    """The judge's words for each failure, in order."""
    optimization_strategies_tried: tuple[StrategyOutcome, ...] = ()
    """What each turn's kernel uses, as its code and its counters show, and what it gave."""
    best_turn: int | None
    """Index of the fastest turn that passed."""

    @classmethod
    def of(cls, task: str, turns: Sequence[ConversationTurn]) -> CUDAConversationState:
        """The state after these turns."""
        speedups = tuple(turn.evaluation.speedup for turn in turns)
        passed = [(speedup, -index) for index, speedup in enumerate(speedups) if speedup is not None]
        return cls(
            task=task,
            compilation_cache=_compilations(turns),
            performance_trajectory=speedups,
            failed_attempts=tuple(t.evaluation.message for t in turns if not t.evaluation.passed),
            optimization_strategies_tried=_strategies(turns),
            best_turn=-max(passed)[1] if passed else None,
        )


def first_turn_of(turns: Sequence[ConversationTurn], candidate: Candidate) -> int | None:
    """The turn in which this very candidate came first; None for a new one."""
    return next((turn.index for turn in turns if turn.evaluation.candidate == candidate), None)


def _compilations(turns: Sequence[ConversationTurn]) -> dict[str, CompileOutcome]:
    cache: dict[str, CompileOutcome] = {}
    for turn in turns:
        candidate = turn.evaluation.candidate
        if candidate is not None and candidate.digest not in cache:
            cache[candidate.digest] = CompileOutcome(
                turn=turn.index, compiled=turn.evaluation.compiled, words=_words(turn.evaluation)
            )
    return cache


def _words(evaluation: Evaluation) -> str:
    compilation = evaluation.compilation
    if compilation is None:
        return f"not compiled: {evaluation.message}"
    if compilation.success:
        return f"compiled: {', '.join(compilation.kernel_names)}"
    return compilation.errors[0].message if compilation.errors else evaluation.message


def _strategies(turns: Sequence[ConversationTurn]) -> tuple[StrategyOutcome, ...]:
    return tuple(outcome for turn in turns for outcome in outcomes_of(turn.evaluation, turn.index))
