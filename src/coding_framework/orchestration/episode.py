"""One episode: the only driver for RL rollouts, evaluation, the command line and serving.

Guarantees: the ids in each turn's `Generation` are the ids that the model was given and sampled;
every turn is judged; a fault of ours propagates as an exception and never becomes a reward.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Literal
from uuid import uuid4

from coding_framework.agents.parsing import parse_answer
from coding_framework.agents.prompts import generator_messages, optimizer_messages, turn_agent
from coding_framework.config import ConversationConfig
from coding_framework.records import (
    Candidate,
    Conversation,
    ConversationTurn,
    Evaluation,
    Generation,
    GenerationRequest,
    Message,
    RewardComponents,
    Task,
    Verdict,
)

Generate = Callable[[GenerationRequest], Awaitable[Generation]]
JudgeFn = Callable[[Task, Candidate], Awaitable[Evaluation]]
RewardFn = Callable[[Evaluation, Sequence[Evaluation]], RewardComponents]
Phase = Literal["train", "evaluation", "interactive"]


async def run_episode(
    task: Task,
    generate: Generate,
    *,
    judge: JudgeFn,
    reward: RewardFn,
    settings: ConversationConfig,
    conversation_id: str | None = None,
    step: int | None = None,
    phase: Phase = "interactive",
) -> Conversation:
    """Generator first, optimizer after, until the reward is high enough or the turns are used up."""
    turns: list[ConversationTurn] = []
    while len(turns) < settings.max_turns:
        turns.append(await _take_turn(task, generate, turns, judge, reward, settings))
        if turns[-1].reward.total >= settings.early_stop_reward:
            break
    stopped_early = turns[-1].reward.total >= settings.early_stop_reward
    return Conversation(
        conversation_id=conversation_id or uuid4().hex,
        task=task.name,
        turns=tuple(turns),
        stop_reason="early_stop" if stopped_early else "max_turns",
        discount=settings.discount,
        max_turns=settings.max_turns,
        step=step,
        phase=phase,
    )


async def _take_turn(
    task: Task,
    generate: Generate,
    turns: Sequence[ConversationTurn],
    judge: JudgeFn,
    reward: RewardFn,
    settings: ConversationConfig,
) -> ConversationTurn:
    earlier = [turn.evaluation for turn in turns]
    agent = turn_agent(len(turns))
    messages = _prompt(task, earlier)
    request = GenerationRequest(agent=agent, messages=messages, max_tokens=settings.max_response_tokens)
    generation = await generate(request)
    evaluation = await _evaluate(task, generation, judge)
    return ConversationTurn(
        index=len(turns),
        agent=agent,
        messages=messages,
        generation=generation,
        evaluation=evaluation,
        reward=reward(evaluation, earlier),
    )


def _prompt(task: Task, earlier: Sequence[Evaluation]) -> tuple[Message, ...]:
    if not earlier:
        return generator_messages(task)
    passed = [evaluation for evaluation in earlier if evaluation.speedup is not None]
    best = max(passed, key=lambda evaluation: evaluation.speedup or 0.0, default=None)
    return optimizer_messages(task, earlier[-1], best)


async def _evaluate(task: Task, generation: Generation, judge: JudgeFn) -> Evaluation:
    answer = parse_answer(generation)
    if answer.candidate is None:
        assert answer.reason is not None
        return Evaluation(task=task.name, candidate=None, verdict=Verdict.NO_CANDIDATE, message=answer.reason)
    return await judge(task, answer.candidate)
