"""Another reward on stored conversations: originals untouched, bad lines counted, means that add up."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coding_framework.config import RewardConfig, RewardWeights
from coding_framework.errors import UserError
from coding_framework.monitoring.run_folder import RunFolder
from coding_framework.records import (
    AgentRole,
    Conversation,
    ConversationTurn,
    Evaluation,
    Generation,
    Message,
    Verdict,
)
from coding_framework.training.reward_functions.cuda_performance_reward import CUDAPerformanceReward
from coding_framework.training.reward_functions.rank_correlation import spearman
from coding_framework.training.reward_functions.rescore_records import RescoredConversation
from coding_framework.training.reward_functions.rescoring import (
    rescore_conversation,
    rescore_run,
    reward_digest,
)
from tests_support import EvaluationFactory

MAKE = EvaluationFactory()
GATED = RewardConfig(preset="gated")


def conversation(name: str, *evaluations: Evaluation, max_turns: int = 3) -> Conversation:
    reward, turns = CUDAPerformanceReward(), []
    for index, evaluation in enumerate(evaluations):
        agent: AgentRole = "optimizer" if index else "generator"
        turns.append(
            ConversationTurn(
                index=index,
                agent=agent,
                messages=(Message(role="user", content="write it"),),
                generation=Generation(text="// kernel"),
                evaluation=evaluation,
                reward=reward(evaluation, evaluations[:index]),
            )
        )
    return Conversation(
        conversation_id=name,
        task="scale" if name < "m" else "gelu",
        turns=tuple(turns),
        stop_reason="early_stop" if len(turns) < max_turns else "max_turns",
        discount=0.9,
        max_turns=max_turns,
        step=1,
        phase="train",
    )


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunFolder:
    monkeypatch.chdir(tmp_path)
    return RunFolder.create(tmp_path, "run", "{}")


def test_every_turn_is_scored_after_the_turns_before_it(run: RunFolder) -> None:
    turns = (MAKE.failed(Verdict.COMPILE_ERROR), MAKE.passed(1.2), MAKE.passed(1.8))
    for reward in (CUDAPerformanceReward(), CUDAPerformanceReward(GATED)):
        rescored = rescore_conversation(conversation("a", *turns), reward, 0.8)
        wanted = [reward(turn, turns[:i]) for i, turn in enumerate(turns)]
        assert [turn.reward for turn in rescored.turns] == wanted


def test_the_same_reward_changes_nothing(run: RunFolder) -> None:
    run.append_conversation(conversation("a", MAKE.failed(Verdict.COMPILE_ERROR), MAKE.passed(1.2)))
    run.append_conversation(conversation("z", MAKE.passed(2.0)))
    report = rescore_run(run, RewardConfig(), early_stop_reward=0.8)
    assert report.overall.old_mean == pytest.approx(report.overall.new_mean)
    assert report.rank_correlation == pytest.approx(1.0)


def test_means_are_compared_by_agent_task_and_verdict_and_the_originals_stay(run: RunFolder) -> None:
    run.append_conversation(conversation("a", MAKE.failed(Verdict.WRONG_RESULT), MAKE.passed(1.2)))
    run.append_conversation(conversation("z", MAKE.passed(1.0), MAKE.passed(1.5), MAKE.passed(2.0)))
    before = (run.path / "conversations.jsonl").read_bytes()
    report = rescore_run(run, GATED, early_stop_reward=0.8)
    assert (run.path / "conversations.jsonl").read_bytes() == before
    assert (report.conversations, report.overall.turns, report.skipped_lines) == (2, 5, 0)
    assert [(row.group, row.turns) for row in report.by_agent] == [("generator", 2), ("optimizer", 3)]
    assert [(row.group, row.turns) for row in report.by_task] == [("gelu", 3), ("scale", 2)]
    by_verdict = {row.group: row for row in report.by_verdict}
    assert by_verdict["wrong_result"].old_mean == pytest.approx(0.3)
    assert by_verdict["wrong_result"].new_mean == 0.0
    lines = report.written.read_text().splitlines()
    stored = [RescoredConversation.model_validate_json(line) for line in lines]
    assert [item.conversation_id for item in stored] == ["a", "z"]
    assert report.written.parent == run.path / "rescored"
    assert report.written.name == f"{reward_digest(GATED)}.jsonl"
    settings = report.written.with_suffix(".json").read_text()
    assert RewardConfig.model_validate_json(settings) == GATED


def test_two_rewards_lie_beside_each_other_and_the_same_one_is_written_over(run: RunFolder) -> None:
    run.append_conversation(conversation("a", MAKE.passed(1.2)))
    for reward in (GATED, RewardConfig(), GATED):
        rescore_run(run, reward, early_stop_reward=0.8)
    assert len(list((run.path / "rescored").glob("*.jsonl"))) == 2


def test_the_digest_does_not_depend_on_the_order_of_settings() -> None:
    weights = RewardWeights()
    one = RewardConfig(agents={"tester": weights, "generator": weights})
    two = RewardConfig(agents={"generator": weights, "tester": weights})
    assert reward_digest(one) == reward_digest(two) != reward_digest(RewardConfig())


def test_each_agent_is_rescored_by_its_own_weights(run: RunFolder) -> None:
    own = RewardWeights(compilation=0, correctness=1, performance=0, efficiency=0, quality=0, improvement=0)
    reward = CUDAPerformanceReward(RewardConfig(agents={"optimizer": own}))
    rescored = rescore_conversation(conversation("a", MAKE.passed(1.0), MAKE.passed(1.0)), reward, 0.8)
    assert [turn.reward.total for turn in rescored.turns] == [
        CUDAPerformanceReward()(MAKE.passed(1.0)).total,
        1.0,
    ]


def test_unreadable_lines_are_skipped_and_counted(run: RunFolder) -> None:
    run.append_conversation(conversation("a", MAKE.passed(1.2)))
    with (run.path / "conversations.jsonl").open("ab") as stream:
        stream.write(b'{"conversation_id": "torn\n\xff\xfe\n[]\n')
    run.append_conversation(conversation("b", MAKE.passed(1.4)))
    report = rescore_run(run, GATED, early_stop_reward=0.8)
    assert (report.conversations, report.skipped_lines) == (2, 3)


def test_a_run_without_conversations_is_refused_and_nothing_is_left_behind(run: RunFolder) -> None:
    with pytest.raises(UserError, match="holds no conversations yet"):
        rescore_run(run, GATED, early_stop_reward=0.8)
    (run.path / "conversations.jsonl").write_text("torn\n")
    with pytest.raises(UserError, match=r"1 lines of .* are damaged"):
        rescore_run(run, GATED, early_stop_reward=0.8)
    assert not (run.path / "rescored").exists()


def test_episodes_that_would_have_ended_elsewhere_are_counted() -> None:
    fast = conversation("a", MAKE.passed(2.0))
    assert not rescore_conversation(fast, CUDAPerformanceReward(), 0.8).stop_moves
    harder = CUDAPerformanceReward(RewardConfig(target_speedup=100))
    assert rescore_conversation(fast, harder, 0.8).stop_moves
    patient = conversation("a", MAKE.passed(2.0), MAKE.passed(2.0), MAKE.passed(2.0))
    assert rescore_conversation(patient, CUDAPerformanceReward(), 0.8).stop_moves


def test_memory_does_not_grow_with_the_number_of_conversations(run: RunFolder) -> None:
    line = conversation("a", MAKE.passed(1.2), MAKE.passed(1.4)).model_dump_json() + "\n"
    (run.path / "conversations.jsonl").write_text(line * 1000)
    tracemalloc.start()
    rescore_run(run, GATED, early_stop_reward=0.8)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak_bytes < len(line) * 1000 / 4


@pytest.mark.parametrize(
    ("first", "second", "wanted"),
    [
        ([1, 2, 3, 4], [10, 20, 30, 40], 1.0),
        ([1, 2, 3, 4], [4, 3, 2, 1], -1.0),
        ([1, 2, 3, 4, 5], [2, 1, 4, 3, 5], 0.8),
        ([1, 1, 2], [1, 2, 3], 0.8660254037844386),
        ([1, 1, 1], [1, 2, 3], None),
        ([1], [1], None),
    ],
)
def test_the_rank_correlation_is_spearmans(
    first: list[float], second: list[float], wanted: float | None
) -> None:
    assert spearman(first, second) == (None if wanted is None else pytest.approx(wanted))


@given(values=st.lists(st.floats(-0.1, 1.0), min_size=2, max_size=50))
def test_the_rank_correlation_with_oneself_is_one(values: list[float]) -> None:
    found = spearman(values, values)
    assert found is None or found == pytest.approx(1.0)
