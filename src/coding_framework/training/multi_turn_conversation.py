"""Conversations as the trainer sees them: settings, judge and reward bound together.

`CUDAConversationState` is the running summary of a conversation, derived from its turns, so it can
never disagree with them (`orchestration/conversation_state.py`, whose prompts need it too). With a file
for checkpoints a conversation that was killed goes on at its last finished step.
"""

from __future__ import annotations

from pathlib import Path

from coding_framework.config import ConversationConfig
from coding_framework.orchestration.conversation_state import CUDAConversationState
from coding_framework.orchestration.episode import Generate, JudgeFn, Phase, RewardFn, run_episode
from coding_framework.orchestration.workflow import CUDAKernelWorkflow
from coding_framework.records import Conversation, ConversationTurn, ModuleTask, Task
from coding_framework.training.reward_functions.cuda_performance_reward import CUDAPerformanceReward

__all__ = ["CUDAConversationState", "ConversationTurn", "MultiTurnConversationManager"]


class MultiTurnConversationManager:
    """Runs conversations with one set of settings."""

    def __init__(
        self,
        settings: ConversationConfig | None = None,
        *,
        judge: JudgeFn | None = None,
        reward_function: RewardFn | None = None,
        checkpoints: Path | None = None,
    ) -> None:
        """Without a judge the default one is used, and without a reward the built-in one; `checkpoints` is a
        SQLite file. Conversations run in this process, so a reward of one's own may be any callable here."""
        self.settings = settings or ConversationConfig()
        self.judge = judge
        """The one that was given."""
        self.reward_function = reward_function
        """The one that was given."""
        self._default_judge: JudgeFn | None = None
        self._checkpoints = checkpoints

    async def run_conversation(
        self,
        task: Task | ModuleTask,
        generate: Generate,
        *,
        phase: Phase = "interactive",
        conversation_id: str | None = None,
    ) -> Conversation:
        """One episode on `task`; with an id it is reproducible, and with checkpoints it can be resumed."""
        judge, reward = self._judge_function(), self.reward_function or CUDAPerformanceReward()
        if self._checkpoints is None or conversation_id is None:
            return await run_episode(
                task,
                generate,
                judge=judge,
                reward=reward,
                settings=self.settings,
                phase=phase,
                conversation_id=conversation_id,
            )
        workflow = CUDAKernelWorkflow(
            self.settings, judge=judge, reward=reward, checkpoints=self._checkpoints
        )
        return await workflow.run(task, generate, conversation_id=conversation_id, phase=phase)

    def _judge_function(self) -> JudgeFn:
        if self.judge is not None:
            return self.judge
        if self._default_judge is None:
            from coding_framework.cuda.pool import JudgePool

            self._default_judge = JudgePool().judge_async
        return self._default_judge
