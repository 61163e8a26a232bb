"""One worker's episodes: judged, retried after a fault of ours, written down.

Guaranteed: a fault of the judge is retried once with a fresh episode; after a second one the episode
is dropped, recorded in the fault file, and gives no reward at all. Any other exception is a defect: within
`fatal_faults` it is recorded as fatal (the launcher then ends the run) and raised.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

from coding_framework.cuda.pool import JudgePool, PoolCounts, open_pool
from coding_framework.data.sources.book import find_task
from coding_framework.errors import JudgeFault
from coding_framework.monitoring.run_folder import RunFolder
from coding_framework.monitoring.storage import append_line
from coding_framework.orchestration.episode import Generate, JudgeFn, run_episode
from coding_framework.records import (
    Candidate,
    Conversation,
    ConversationTurn,
    Evaluation,
    ModuleTask,
    Record,
    Task,
)
from coding_framework.training.reward_functions.own_reward import Reward, reward_of
from coding_framework.training.rl.judge_counts import JudgeCounts
from coding_framework.training.rl.turn_taking import TurnTaking
from coding_framework.training.rl.worker_settings import WorkerSettings

Turns = tuple[ConversationTurn, ...]
_ATTEMPTS = 2


class EpisodeFault(Record):
    """An episode that was lost through no fault of the policy."""

    step: int
    """Training step."""
    task: str
    """Name of the task."""
    error: str
    """Type and message."""
    fatal: bool
    """Whether the run cannot go on."""


@dataclass(frozen=True)
class TurnSample:
    """One turn as a training example: the exact ids, what they earned, and where they stood."""

    turn: int
    prompt_ids: tuple[int, ...]
    response_ids: tuple[int, ...]
    log_probs: tuple[float, ...]
    value: float
    """Discounted return from this turn on."""


def turn_samples(conversation: Conversation) -> list[TurnSample]:
    """Every turn after the opening on its own: generator and optimizer see prompts of their own."""
    return [
        TurnSample(
            turn=turn.index,
            prompt_ids=turn.generation.prompt_token_ids,
            response_ids=turn.generation.token_ids,
            log_probs=turn.generation.log_probs,
            value=value,
        )
        for turn, value in zip(conversation.turns, conversation.returns, strict=True)
        if turn.index >= conversation.opening_turns
    ]


class EpisodeRunner:
    """Runs training episodes with one judge pool."""

    def __init__(self, settings: WorkerSettings, judge: JudgeFn | None = None) -> None:
        self._settings = settings
        self._judge = judge
        self._pool: JudgePool | None = None
        self._counted = PoolCounts()
        self._folder = RunFolder(settings.run_dir)
        self.turns = TurnTaking(exclusive=settings.judged_on == "card_in_turns")
        """Where policy and judge take turns."""

    @cached_property
    def _reward(self) -> Reward:
        """Made with the first episode: one that cannot be made here ends the run, with its words."""
        return reward_of(self._settings.reward)

    async def run(
        self, task: str, generate: Generate, step: int, episode: str, *, opening: Turns = ()
    ) -> Conversation | None:
        """The finished conversation, already written down; None when it was lost to the judge.

        Its answers ask to be drawn from its name, `episode`.
        """
        conversation = await self.play(task, generate, step, episode, opening=opening)
        for span in self.turns.finished_spans():
            append_line(self._settings.activity_file, span.model_dump_json())
        self._write_counts(step)
        if conversation is not None:
            where = {"judged_on": self._settings.judged_on}
            self._folder.append_conversation(conversation.model_copy(update=where))
        return conversation

    @contextmanager
    def fatal_faults(self, task: str, step: int) -> Iterator[None]:
        """Whatever escapes from the block is a defect: written down for the launcher, and raised."""
        try:
            yield
        except Exception as error:
            self._record_fault(task, step, error, fatal=True)
            raise

    async def play(
        self, task: str, generate: Generate, step: int, episode: str, *, opening: Turns = ()
    ) -> Conversation | None:
        """The same without writing the conversation down."""
        judge_alone = self._judge = self._judge or self._open_pool()

        async def judge(task: Task | ModuleTask, candidate: Candidate) -> Evaluation:
            async with self.turns.taking("judging", step):
                return await judge_alone(task, candidate)

        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return await run_episode(
                    find_task(self._settings.known_tasks, task),
                    generate,
                    judge=judge,
                    reward=self._reward,
                    settings=self._settings.conversation,
                    conversation_id=episode if attempt == 1 else f"{episode}-{attempt}",
                    step=step,
                    phase="train",
                    opening=opening,
                )
            except JudgeFault as fault:
                if attempt == _ATTEMPTS:
                    self._record_fault(task, step, fault, fatal=False)
        return None

    def _record_fault(self, task: str, step: int, error: Exception, *, fatal: bool) -> None:
        fault = EpisodeFault(step=step, task=task, error=f"{type(error).__name__}: {error}", fatal=fatal)
        append_line(self._settings.fault_file, fault.model_dump_json())

    def _open_pool(self) -> JudgeFn:
        self._pool = open_pool(self._settings.judge)
        return self._pool.judge_async

    def _write_counts(self, step: int) -> None:
        """What the judge did since an episode ended last."""
        if self._pool is None:
            return
        counts = self._pool.counts
        new, self._counted = counts.since(self._counted), counts
        line = JudgeCounts(step=step, counts=new)
        append_line(self._settings.judge_file, line.model_dump_json())
