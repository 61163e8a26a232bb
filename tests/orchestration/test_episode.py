"""One episode, with a scripted model and hand-made verdicts."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from coding_framework.config import ConversationConfig
from coding_framework.data.tasks import get_task
from coding_framework.errors import JudgeFault
from coding_framework.orchestration.episode import run_episode
from coding_framework.records import Candidate, Evaluation, Generation, GenerationRequest, Task, Verdict
from coding_framework.training.multi_turn_conversation import (
    CUDAConversationState,
    MultiTurnConversationManager,
)
from coding_framework.training.reward_functions.cuda_performance_reward import CUDAPerformanceReward
from tests_support import EvaluationFactory

TASK = get_task("scale")
ANSWER = "```cuda\n__global__ void k{}() {{}}\n```"


class Model:
    """Says what it is told to, then a new kernel every time, and remembers what it was asked."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.requests: list[GenerationRequest] = []

    async def __call__(self, request: GenerationRequest) -> Generation:
        self.requests.append(request)
        text = self.answers.pop(0) if self.answers else ANSWER.format(len(self.requests))
        return Generation(text=text, prompt_token_ids=(1, 2), token_ids=(3,), log_probs=(-0.5,))


class Verdicts:
    """A judge with a list of verdicts."""

    def __init__(self, *verdicts: Evaluation) -> None:
        self.verdicts = list(verdicts)

    async def __call__(self, task: Task, candidate: Candidate) -> Evaluation:
        return self.verdicts.pop(0).model_copy(update={"candidate": candidate})


async def test_the_generator_opens_and_the_optimizer_is_told_what_the_judge_said(
    evaluations: EvaluationFactory,
) -> None:
    model = Model()
    judge = Verdicts(evaluations.failed(Verdict.DATA_RACE), evaluations.passed(1.1), evaluations.passed(1.2))
    conversation = await run_episode(
        TASK,
        model,
        judge=judge,
        reward=CUDAPerformanceReward(),
        settings=ConversationConfig(max_turns=3, early_stop_reward=0.95),
    )
    assert [turn.agent for turn in conversation.turns] == ["generator", "optimizer", "optimizer"]
    assert "It is data_race" in model.requests[1].messages[-1].content
    assert "Write it correctly." in model.requests[1].messages[-1].content
    assert "Write it faster." in model.requests[2].messages[-1].content
    assert conversation.turns[0].generation.token_ids == (3,)


async def test_a_reward_that_is_high_enough_ends_the_episode(evaluations: EvaluationFactory) -> None:
    conversation = await run_episode(
        TASK,
        Model(),
        judge=Verdicts(evaluations.passed(4.0)),
        reward=CUDAPerformanceReward(),
        settings=ConversationConfig(max_turns=5),
        step=7,
        phase="train",
    )
    assert len(conversation.turns) == 1
    assert (conversation.stop_reason, conversation.step, conversation.phase) == ("early_stop", 7, "train")


async def test_an_answer_without_code_is_a_verdict_and_the_next_turn_is_told(
    evaluations: EvaluationFactory,
) -> None:
    model = Model("I would rather not.")
    conversation = await run_episode(
        TASK,
        model,
        judge=Verdicts(evaluations.passed(4.0)),
        reward=CUDAPerformanceReward(),
        settings=ConversationConfig(max_turns=2),
    )
    assert conversation.turns[0].evaluation.verdict is Verdict.NO_CANDIDATE
    assert "holds no code block" in model.requests[1].messages[-1].content


async def test_the_fastest_kernel_so_far_is_shown_not_the_last(evaluations: EvaluationFactory) -> None:
    model = Model("```cuda\n__global__ void first() {}\n```", "```cuda\n__global__ void second() {}\n```")
    judge = Verdicts(
        evaluations.passed(1.2), evaluations.failed(Verdict.WRONG_RESULT), evaluations.passed(1.0)
    )
    await run_episode(
        TASK,
        model,
        judge=judge,
        reward=CUDAPerformanceReward(),
        settings=ConversationConfig(max_turns=3, early_stop_reward=0.95),
    )
    assert "void first()" in model.requests[2].messages[-1].content
    assert "It is wrong_result" in model.requests[2].messages[-1].content


async def test_a_fault_of_the_judge_is_raised_and_never_rewarded() -> None:
    async def broken(task: Task, candidate: Candidate) -> Evaluation:
        raise JudgeFault("the worker died")

    def reward(evaluation: Evaluation, earlier: Sequence[Evaluation]) -> None:
        raise AssertionError("a fault was rewarded")

    with pytest.raises(JudgeFault):
        await run_episode(TASK, Model(), judge=broken, reward=reward, settings=ConversationConfig())  # type: ignore[arg-type]


async def test_the_manager_binds_settings_judge_and_reward(evaluations: EvaluationFactory) -> None:
    manager = MultiTurnConversationManager(
        ConversationConfig(max_turns=3, early_stop_reward=0.95),
        judge=Verdicts(
            evaluations.failed(Verdict.TIMEOUT), evaluations.passed(1.2), evaluations.failed(Verdict.TIMEOUT)
        ),
        reward_function=CUDAPerformanceReward(),
    )
    conversation = await manager.run_conversation(TASK, Model())
    state = CUDAConversationState.of(TASK.name, conversation.turns)
    assert state.best_turn == 1
    assert state.performance_trajectory == (None, pytest.approx(1.2), None)
    assert len(state.failed_attempts) == 2
    assert CUDAConversationState.of(TASK.name, conversation.turns[:1]).best_turn is None
