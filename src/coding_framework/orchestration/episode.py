"""One episode in memory: the driver for RL rollouts, evaluation and the command line.

The steps are those of `steps.py`, which `CUDAKernelWorkflow` walks as a graph with a checkpoint after
each: whoever needs to survive a killed process takes that one, and gets the same record.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar
from uuid import uuid4

from coding_framework.config import ConversationConfig
from coding_framework.orchestration.steps import AnyTask, Episode, Generate, JudgeFn, Phase, RewardFn
from coding_framework.records import Conversation, ConversationTurn

__all__ = ["Generate", "JudgeFn", "Phase", "RewardFn", "all_of", "run_episode"]

Result = TypeVar("Result")


async def run_episode(
    task: AnyTask,
    generate: Generate,
    *,
    judge: JudgeFn,
    reward: RewardFn,
    settings: ConversationConfig,
    conversation_id: str | None = None,
    step: int | None = None,
    phase: Phase = "interactive",
    opening: tuple[ConversationTurn, ...] = (),
) -> Conversation:
    """Generator first, optimizer after, until the reward is high enough or the turns are used up.

    With a `conversation_id` every request carries a seed made of it, and the episode can be repeated.
    With an `opening`, turns of an earlier episode, it goes on from there.
    """
    episode = Episode(
        task=task,
        generate=generate,
        judge=judge,
        reward=reward,
        settings=settings,
        conversation_id=conversation_id or uuid4().hex,
        seeded=conversation_id is not None,
        opening=opening,
    )
    turns = list(episode.opening)
    while not episode.is_over(turns):
        turns.append(await episode.evaluate(turns, await episode.ask(turns)))
        if episode.wants_test(turns):
            turns[-1] = await episode.test(turns)
    return episode.conclude(turns, step=step, phase=phase)


async def all_of(episodes: Iterable[Coroutine[Any, Any, Result]]) -> list[Result]:
    """Side by side; when one fails the others are cancelled and over before it is raised."""
    tasks = [asyncio.ensure_future(episode) for episode in episodes]
    try:
        return list(await asyncio.gather(*tasks))
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
