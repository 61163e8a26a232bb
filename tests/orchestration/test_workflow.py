"""The whole graph with the real judge on the emulator, and what each agent is told on the way."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from scripted_model import (
    BROKEN,
    CONVERSATION_ID,
    FAST,
    JUDGE,
    SETTINGS,
    SLOW,
    TASK,
    WRONG,
    ScriptedModel,
)

from coding_framework.agents.models.prompt_seeds import PromptSeeds
from coding_framework.agents.strategies import recognise
from coding_framework.config import ConversationConfig
from coding_framework.cuda.pool import JudgePool
from coding_framework.errors import JudgeFault, UserError
from coding_framework.orchestration.conversation_state import CUDAConversationState
from coding_framework.orchestration.episode import run_episode
from coding_framework.orchestration.workflow import CUDAKernelWorkflow
from coding_framework.records import (
    Candidate,
    Conversation,
    Evaluation,
    Generation,
    GenerationRequest,
    Task,
    Verdict,
)
from coding_framework.training.multi_turn_conversation import MultiTurnConversationManager
from coding_framework.training.reward_functions.cuda_performance_reward import CUDAPerformanceReward
from tests_support import EvaluationFactory


@pytest.fixture(scope="module")
def pool() -> Iterator[JudgePool]:
    with JudgePool(JUDGE) as judges:
        yield judges


def workflow_of(pool: JudgePool, settings: ConversationConfig, path: Path | None) -> CUDAKernelWorkflow:
    return CUDAKernelWorkflow(
        settings, judge=pool.judge_async, reward=CUDAPerformanceReward(), checkpoints=path
    )


@pytest.fixture(scope="module")
def told(pool: JudgePool, tmp_path_factory: pytest.TempPathFactory) -> tuple[Conversation, list[str]]:
    """The scripted conversation, and every prompt in it."""
    model = ScriptedModel()
    workflow = workflow_of(pool, SETTINGS, tmp_path_factory.mktemp("w") / "checkpoints.sqlite")
    conversation = asyncio.run(workflow.run(TASK, model.generate, conversation_id=CONVERSATION_ID))
    return conversation, [request.messages[-1].content for request in model.requests]


async def test_a_model_goes_from_broken_over_wrong_and_slow_to_fast(
    told: tuple[Conversation, list[str]],
) -> None:
    conversation, _ = told
    verdicts = [turn.evaluation.verdict for turn in conversation.turns]
    assert verdicts == [Verdict.COMPILE_ERROR, Verdict.WRONG_RESULT, Verdict.PASSED, Verdict.PASSED]
    assert [turn.agent for turn in conversation.turns] == ["generator"] + ["optimizer"] * 3
    sources = [turn.evaluation.candidate.source for turn in conversation.turns if turn.evaluation.candidate]
    assert [source.strip() for source in sources] == [text.strip() for text in (BROKEN, WRONG, SLOW, FAST)]
    rewards = [turn.reward.total for turn in conversation.turns]
    assert rewards == sorted(rewards)
    assert conversation.conversation_id == CONVERSATION_ID


async def test_each_prompt_says_what_the_judge_found_in_the_turn_before(
    told: tuple[Conversation, list[str]],
) -> None:
    _, (first, after_broken, after_wrong, after_slow) = told
    assert "The judge says" not in first
    broken_line = 1 + next(n for n, line in enumerate(BROKEN.splitlines()) if "flaot" in line)
    assert "does not compile" in after_broken
    assert f"line {broken_line}" in after_broken
    assert '"flaot"' in after_broken
    assert "Write it correctly." in after_broken
    assert "Wrong result for rows=64, cols=128" in after_wrong
    assert "64 of 64 elements are wrong" in after_wrong
    assert "y[0]" in after_wrong
    assert "Write it correctly." in after_wrong
    assert "1.00x" in after_slow
    assert "modelled" in after_slow
    assert "Bound by" in after_slow or "bound" in after_slow
    assert "Write it faster." in after_slow
    assert "void row_sum" in after_slow


async def test_no_hidden_size_is_ever_told(told: tuple[Conversation, list[str]]) -> None:
    _, prompts = told
    for size in {str(size) for shape in TASK.hidden_shapes for size in shape.values() if size > 100}:
        assert all(size not in prompt for prompt in prompts)


async def test_the_state_follows_from_the_turns(told: tuple[Conversation, list[str]]) -> None:
    turns = told[0].turns
    state = CUDAConversationState.of(TASK.name, turns)
    assert state.best_turn == 3
    assert state.performance_trajectory[:2] == (None, None)
    assert state.performance_trajectory[3] == pytest.approx(turns[3].evaluation.speedup)
    assert len(state.failed_attempts) == 2
    assert [known.compiled for known in state.compilation_cache.values()] == [False, True, True, True]
    assert "flaot" in next(iter(state.compilation_cache.values())).words
    last = {outcome.strategy for outcome in state.optimization_strategies_tried if outcome.turn == 3}
    assert last == recognise(FAST, turns[3].evaluation.profile)
    assert last


async def test_tokens_and_log_probabilities_survive_the_database(
    told: tuple[Conversation, list[str]],
) -> None:
    for turn in told[0].turns:
        assert len(turn.generation.token_ids) == len(turn.generation.log_probs) > 0
        assert turn.generation.prompt_token_ids == (len(turn.messages[-1].content),)


async def test_the_graph_and_the_loop_give_the_same_record(
    pool: JudgePool, told: tuple[Conversation, list[str]]
) -> None:
    """The judge remembers its verdicts, so even the times are the same."""
    looped = await run_episode(
        TASK,
        ScriptedModel().generate,
        judge=pool.judge_async,
        reward=CUDAPerformanceReward(),
        settings=SETTINGS,
        conversation_id=CONVERSATION_ID,
    )
    assert looped == told[0]
    in_memory = await workflow_of(pool, SETTINGS, None).run(
        TASK, ScriptedModel().generate, conversation_id=CONVERSATION_ID
    )
    assert in_memory == told[0]


async def test_the_database_holds_json_and_no_objects(pool: JudgePool, tmp_path: Path) -> None:
    path = tmp_path / "checkpoints.sqlite"
    settings = SETTINGS.model_copy(update={"max_turns": 1})
    await workflow_of(pool, settings, path).run(TASK, ScriptedModel().generate, conversation_id="one")
    with sqlite3.connect(path) as database:
        stored = database.execute("select type, value from writes").fetchall()
    assert {kind for kind, _ in stored} <= {"msgpack", "null", "empty", "json"}
    assert all(b"coding_framework" not in value for _, value in stored if value)


async def test_a_conversation_is_not_continued_with_other_settings(pool: JudgePool, tmp_path: Path) -> None:
    path = tmp_path / "checkpoints.sqlite"
    one = SETTINGS.model_copy(update={"max_turns": 1})
    await workflow_of(pool, one, path).run(TASK, ScriptedModel().generate, conversation_id="one")
    with pytest.raises(UserError, match="other settings"):
        await workflow_of(pool, SETTINGS, path).run(TASK, ScriptedModel().generate, conversation_id="one")


async def test_a_fault_of_the_judge_keeps_the_answer_and_is_judged_after_all(
    pool: JudgePool, tmp_path: Path
) -> None:
    """The model is not asked again for what it has answered."""

    async def broken(task: object, candidate: Candidate) -> Evaluation:
        raise JudgeFault("the worker died")

    path, settings = tmp_path / "checkpoints.sqlite", SETTINGS.model_copy(update={"max_turns": 1})
    model = ScriptedModel()
    failing = CUDAKernelWorkflow(settings, judge=broken, reward=CUDAPerformanceReward(), checkpoints=path)
    with pytest.raises(JudgeFault):
        await failing.run(TASK, model.generate, conversation_id="one")
    conversation = await workflow_of(pool, settings, path).run(TASK, model.generate, conversation_id="one")
    assert len(model.requests) == 1
    assert conversation.turns[0].evaluation.verdict is Verdict.COMPILE_ERROR


async def test_nothing_is_lost_whichever_checkpoint_could_not_be_written(
    pool: JudgePool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a step's answer is in the database and the checkpoint after it is not."""
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

    write, countdown = AsyncSqliteSaver.aput, 0

    async def write_until_the_end_comes(*arguments: Any) -> Any:
        nonlocal countdown
        countdown -= 1
        if countdown == 0:
            raise SystemError("the power is gone")
        return await write(*arguments)

    monkeypatch.setattr(AsyncSqliteSaver, "aput", write_until_the_end_comes)
    num_checkpoints = 0
    while True:
        num_checkpoints, model = num_checkpoints + 1, ScriptedModel()
        workflow = workflow_of(pool, SETTINGS, tmp_path / f"{num_checkpoints}.sqlite")
        countdown = num_checkpoints
        try:
            await workflow.run(TASK, model.generate, conversation_id="1")
            break
        except SystemError:
            conversation = await workflow.run(TASK, model.generate, conversation_id="1")
        assert len(conversation.turns) == SETTINGS.max_turns
        assert len(model.requests) <= SETTINGS.max_turns + 1
    assert num_checkpoints > 2 * SETTINGS.max_turns


async def test_the_manager_resumes_by_the_conversations_id(pool: JudgePool, tmp_path: Path) -> None:
    manager = MultiTurnConversationManager(
        SETTINGS.model_copy(update={"max_turns": 2}),
        judge=pool.judge_async,
        checkpoints=tmp_path / "checkpoints.sqlite",
    )
    first = await manager.run_conversation(TASK, ScriptedModel().generate, conversation_id="a")
    model = ScriptedModel()
    assert await manager.run_conversation(TASK, model.generate, conversation_id="a") == first
    assert model.requests == []


class Repeating:
    """Gives the same kernel every time."""

    def __init__(self) -> None:
        self.requests: list[GenerationRequest] = []

    async def __call__(self, request: GenerationRequest) -> Generation:
        self.requests.append(request)
        return Generation(text="```cuda\n__global__ void same() {}\n```")


async def test_a_repeated_answer_is_told_so_and_is_not_judged_again(evaluations: EvaluationFactory) -> None:
    judged: list[str] = []

    async def judge(task: Task, candidate: Candidate) -> Evaluation:
        judged.append(candidate.digest)
        return evaluations.failed(Verdict.DATA_RACE).model_copy(update={"candidate": candidate})

    model = Repeating()
    conversation = await run_episode(
        TASK, model, judge=judge, reward=CUDAPerformanceReward(), settings=ConversationConfig(max_turns=3)
    )
    assert len(judged) == 1
    assert "word for word" not in model.requests[1].messages[-1].content
    assert "the kernel of turn 1 word for word" in model.requests[2].messages[-1].content
    assert {turn.evaluation.verdict for turn in conversation.turns} == {Verdict.DATA_RACE}


class WithTester:
    """A kernel that is wrong for one width only, and a tester that asks for just that.

    It is beyond the hidden shapes, so that the judge's secret shape cannot find it by chance.
    """

    KERNEL = SLOW.replace("y[r] = total;", "y[r] = cols == 1031 ? 0.0f : total;")

    def __init__(self, tests: str) -> None:
        self.tests = tests
        self.agents: list[str] = []

    async def __call__(self, request: GenerationRequest) -> Generation:
        self.agents.append(request.agent)
        if request.agent == "tester":
            assert ("cols == 1031" in request.messages[-1].content) == (len(self.agents) == 2)
            return Generation(text=self.tests)
        return Generation(text=f"```cuda\n{self.KERNEL if len(self.agents) == 1 else SLOW}\n```")


@pytest.mark.parametrize(
    ("tests", "verdict", "agents"),
    [
        ("// test: rows=3 cols=1031", Verdict.WRONG_RESULT, ["generator", "tester", "optimizer", "tester"]),
        ("// test: rows=3 cols=1030", Verdict.PASSED, ["generator", "tester", "optimizer", "tester"]),
        ("I cannot think of any.", Verdict.PASSED, ["generator", "tester", "optimizer", "tester"]),
    ],
)
async def test_a_tester_decides_where_to_look_and_the_judge_what_is_right(
    pool: JudgePool, tests: str, verdict: Verdict, agents: list[str]
) -> None:
    model = WithTester(tests)
    settings = ConversationConfig(max_turns=2, early_stop_reward=1.0, tester=True)
    conversation = await workflow_of(pool, settings, None).run(TASK, model, conversation_id=tests)
    first = conversation.turns[0]
    assert first.evaluation.verdict is verdict
    assert first.evaluation.task == TASK.name
    assert model.agents == agents
    assert first.tests is not None
    assert first.tests.found_fault == (verdict is not Verdict.PASSED)
    assert (first.tests.reason is not None) == ("cannot" in tests)
    if first.tests.found_fault:
        assert "Wrong result for rows=3, cols=1031" in conversation.turns[1].messages[-1].content


def test_a_conversation_of_an_earlier_version_still_loads(evaluations: EvaluationFactory) -> None:
    """Turns had no tester and requests no seed."""
    reward = CUDAPerformanceReward()(evaluations.passed(2.0), ())
    turn = {
        "index": 0,
        "agent": "generator",
        "messages": [{"role": "user", "content": "x"}],
        "generation": {"text": "y"},
        "evaluation": json.loads(evaluations.passed(2.0).model_dump_json()),
        "reward": json.loads(reward.model_dump_json()),
    }
    whole = {
        "conversation_id": "c",
        "task": "scale",
        "turns": [turn],
        "stop_reason": "max_turns",
        "discount": 0.9,
        "max_turns": 3,
    }
    assert Conversation.model_validate_json(json.dumps(whole)).turns[0].tests is None


def test_a_request_with_a_seed_of_its_own_is_drawn_alike_in_every_process() -> None:
    first, later = PromptSeeds(3), PromptSeeds(3)
    later.next("prompt")
    assert first.next("prompt", own=5) == later.next("prompt", own=5)
    assert first.next("prompt", own=5) != first.next("prompt", own=6)
    assert first.next("prompt") != first.next("prompt")


async def test_every_turn_asks_with_a_seed_of_its_own_and_every_run_with_the_same(
    evaluations: EvaluationFactory,
) -> None:
    async def judge(task: Task, candidate: Candidate) -> Evaluation:
        return evaluations.failed(Verdict.DATA_RACE).model_copy(update={"candidate": candidate})

    asked: list[list[int | None]] = []
    for name in ("a", "a", "b", None):
        model = Repeating()
        await run_episode(
            TASK,
            model,
            judge=judge,
            reward=CUDAPerformanceReward(),
            settings=ConversationConfig(max_turns=3),
            conversation_id=name,
        )
        asked.append([request.seed for request in model.requests])
    assert asked[0] == asked[1]
    assert len({*asked[0], *asked[2]}) == 6
    assert asked[3] == [None, None, None]
