"""The steps of a conversation, each a function of the turns before it.

`run_episode` walks them in memory and `CUDAKernelWorkflow` walks them as a graph that survives a killed
process; neither has logic of its own, so that both give the same record.

Guarantees: the ids in each turn's `Generation` are the ids that the model was given and sampled; every
new candidate is judged, and one that repeats an earlier turn's is told so and keeps that verdict; a fault
of ours propagates as an exception and never becomes a reward.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from coding_framework.agents.parsing import parse_answer
from coding_framework.agents.prompts import (
    default_contract,
    generator_messages,
    optimizer_messages,
    tester_messages,
    turn_agent,
)
from coding_framework.config import ConversationConfig
from coding_framework.orchestration.conversation_state import CUDAConversationState, first_turn_of
from coding_framework.orchestration.testing import tester_report
from coding_framework.records import (
    AgentRole,
    Candidate,
    Conversation,
    ConversationTurn,
    Evaluation,
    Generation,
    GenerationRequest,
    Message,
    ModuleTask,
    Record,
    RewardComponents,
    Task,
    Verdict,
)

AnyTask = Task | ModuleTask
Generate = Callable[[GenerationRequest], Awaitable[Generation]]
JudgeFn = Callable[[AnyTask, Candidate], Awaitable[Evaluation]]
RewardFn = Callable[[Evaluation, Sequence[Evaluation]], RewardComponents]
Phase = Literal["train", "evaluation", "interactive"]
Turns = Sequence[ConversationTurn]


@runtime_checkable
class AgentReward(Protocol):
    """A reward that weighs its parts differently for each agent."""

    def for_agent(self, role: AgentRole) -> RewardFn: ...


class Answer(Record):
    """What was asked and what came back: the half of a turn that a model has done."""

    request: GenerationRequest
    """The prompt."""
    generation: Generation
    """The answer."""


@dataclass(frozen=True)
class Episode:
    """A task with everyone who takes part in a conversation on it."""

    task: AnyTask
    generate: Generate
    judge: JudgeFn
    reward: RewardFn
    settings: ConversationConfig
    conversation_id: str
    seeded: bool = False
    """Whether requests carry a seed of their own, made of the conversation's id and the turn."""
    opening: tuple[ConversationTurn, ...] = ()
    """Turns that were there before; what they earned counts as for any earlier turn."""

    async def ask(self, turns: Turns) -> Answer:
        """The next agent's answer: the generator opens, the optimizer follows."""
        agent = turn_agent(len(turns))
        messages = _prompt(self.task, turns, self.settings.max_prompt_tokens)
        request = self._request(agent, messages, len(turns))
        return Answer(request=request, generation=await self.generate(request))

    async def evaluate(self, turns: Turns, answer: Answer) -> ConversationTurn:
        """The turn that the answer makes, judged and rewarded."""
        evaluation = await self._judged(turns, answer.generation)
        return ConversationTurn(
            index=len(turns),
            agent=answer.request.agent,
            messages=answer.request.messages,
            generation=answer.generation,
            evaluation=evaluation,
            reward=self._reward(answer.request.agent, evaluation, turns),
        )

    def wants_test(self, turns: Turns) -> bool:
        """Whether the tester has a say on the last turn: it passed, and nobody tested it yet."""
        last = turns[-1]
        has_shapes = isinstance(self.task, Task)
        return self.settings.tester and has_shapes and last.evaluation.passed and last.tests is None

    async def test(self, turns: Turns) -> ConversationTurn:
        """The last turn with the tester's part; a fault that it found is the turn's verdict."""
        last, earlier = turns[-1], turns[:-1]
        candidate = last.evaluation.candidate
        assert candidate is not None
        assert isinstance(self.task, Task)
        request = self._request("tester", tester_messages(self.task, candidate), last.index)
        report = await tester_report(self.task, candidate, request, await self.generate(request), self.judge)
        if report.evaluation is None or not report.found_fault:
            return last.model_copy(update={"tests": report})
        reward = self._reward(last.agent, report.evaluation, earlier)
        return last.model_copy(update={"tests": report, "evaluation": report.evaluation, "reward": reward})

    def is_over(self, turns: Turns) -> bool:
        """Whether the reward is high enough or the turns are used up."""
        return len(turns) >= self.settings.max_turns or self._is_good_enough(turns)

    def conclude(self, turns: Turns, *, step: int | None, phase: Phase) -> Conversation:
        """The finished record."""
        return Conversation(
            conversation_id=self.conversation_id,
            task=self.task.name,
            turns=tuple(turns),
            stop_reason="early_stop" if self._is_good_enough(turns) else "max_turns",
            discount=self.settings.discount,
            max_turns=self.settings.max_turns,
            step=step,
            phase=phase,
            opening_turns=len(self.opening),
        )

    def _is_good_enough(self, turns: Turns) -> bool:
        return bool(turns) and turns[-1].reward.total >= self.settings.early_stop_reward

    def _request(self, agent: AgentRole, messages: tuple[Message, ...], turn: int) -> GenerationRequest:
        seed = _seed(self.conversation_id, agent, turn) if self.seeded else None
        limit = self.settings.max_response_tokens
        return GenerationRequest(agent=agent, messages=messages, max_tokens=limit, seed=seed)

    def _reward(self, agent: AgentRole, evaluation: Evaluation, turns: Turns) -> RewardComponents:
        reward = self.reward.for_agent(agent) if isinstance(self.reward, AgentReward) else self.reward
        return reward(evaluation, [turn.evaluation for turn in turns])

    async def _judged(self, turns: Turns, generation: Generation) -> Evaluation:
        parsed = parse_answer(generation, contract=default_contract(self.task))
        if parsed.candidate is None:
            assert parsed.reason is not None
            return Evaluation(
                task=self.task.name, candidate=None, verdict=Verdict.NO_CANDIDATE, message=parsed.reason
            )
        known = first_turn_of(turns, parsed.candidate)
        if known is not None:
            return turns[known].evaluation.model_copy(update={"gate_seconds": {}})
        return await self.judge(self.task, parsed.candidate)


def repeats(turns: Turns) -> int | None:
    """The earlier turn whose candidate the last one gave again, word for word; None for a new one."""
    candidate = turns[-1].evaluation.candidate
    return None if candidate is None else first_turn_of(turns[:-1], candidate)


def _prompt(task: AnyTask, turns: Turns, max_tokens: int) -> tuple[Message, ...]:
    if not turns:
        return generator_messages(task)
    state = CUDAConversationState.of(task.name, turns)
    best = None if state.best_turn is None else turns[state.best_turn].evaluation
    messages = optimizer_messages(
        task, turns[-1].evaluation, best, state.optimization_strategies_tried, max_tokens=max_tokens
    )
    known = repeats(turns)
    if known is None:
        return messages
    told = f"Your last answer was the kernel of turn {known + 1} word for word. Write a different one."
    return (*messages[:-1], messages[-1].model_copy(update={"content": f"{messages[-1].content}\n\n{told}"}))


def _seed(conversation_id: str, agent: AgentRole, turn: int) -> int:
    material = f"{conversation_id}:{agent}:{turn}".encode()
    return int.from_bytes(hashlib.sha256(material).digest()[:7], "little")
