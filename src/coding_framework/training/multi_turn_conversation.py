"""Conversations as the trainer sees them: settings, judge and reward bound together.

`CUDAConversationState` is the running summary of a conversation, derived from its turns, so it can
never disagree with them.
"""

from __future__ import annotations

from collections.abc import Sequence

from coding_framework.config import ConversationConfig
from coding_framework.orchestration.episode import Generate, JudgeFn, Phase, RewardFn, run_episode
from coding_framework.records import Conversation, ConversationTurn, Record, Task
from coding_framework.training.reward_functions.cuda_performance_reward import CUDAPerformanceReward

__all__ = ["CUDAConversationState", "ConversationTurn", "MultiTurnConversationManager"]


class CUDAConversationState(Record):
    """What a conversation has tried so far."""

    task: str
    """Name of the task."""
    performance_trajectory: tuple[float | None, ...]
    """Speedup of each turn; None where it did not pass."""
    failed_attempts: tuple[str, ...]
    """The judge's words for each failure, in order."""
    best_turn: int | None
    """Index of the fastest turn that passed."""

    @classmethod
    def of(cls, task: str, turns: Sequence[ConversationTurn]) -> CUDAConversationState:
        """The state after these turns."""
        speedups = tuple(turn.evaluation.speedup for turn in turns)
        passed = [(speedup, -index) for index, speedup in enumerate(speedups) if speedup is not None]
        return cls(
            task=task,
            performance_trajectory=speedups,
            failed_attempts=tuple(t.evaluation.message for t in turns if not t.evaluation.passed),
            best_turn=-max(passed)[1] if passed else None,
        )


class MultiTurnConversationManager:
    """Runs conversations with one set of settings."""

    def __init__(
        self,
        settings: ConversationConfig | None = None,
        *,
        judge: JudgeFn | None = None,
        reward_function: RewardFn | None = None,
    ) -> None:
        self.settings = settings or ConversationConfig()
        self._judge = judge
        self._reward = reward_function or CUDAPerformanceReward()

    async def run_conversation(
        self, task: Task, generate: Generate, *, phase: Phase = "interactive"
    ) -> Conversation:
        """One episode on `task`. Without a judge of its own it uses the default one."""
        if self._judge is None:
            from coding_framework.cuda.pool import JudgePool

            self._judge = JudgePool().judge_async
        return await run_episode(
            task, generate, judge=self._judge, reward=self._reward, settings=self.settings, phase=phase
        )
