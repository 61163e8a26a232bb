"""The curves of a step: pure functions of its conversations, its spans and its judge's counts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from coding_framework.cuda.pool import PoolCounts
from coding_framework.records import (
    REFUSED_AS_HACKS,
    AgentRole,
    Conversation,
    ConversationTurn,
    Generation,
    Message,
    Verdict,
)
from coding_framework.records.conversation import FinishReason
from coding_framework.training.reward_functions.cuda_performance_reward import CUDAPerformanceReward
from coding_framework.training.rl.conversation_curves import curve_values
from coding_framework.training.rl.judge_counts import JudgeCounts, judge_values
from coding_framework.training.rl.step_reports import _FROM_VERL, conversation_values
from coding_framework.training.rl.time_split import activity_values, rest_of_step, speeds
from coding_framework.training.rl.turn_taking import Activity, ActivitySpan
from tests_support import EvaluationFactory

Outcome = float | Verdict
"""A speedup, or why it failed."""
TIERS = {"easy": 0, "hard": 2}


def conversation(task: str, *outcomes: Outcome, tokens: Sequence[int] = (), opening: int = 0) -> Conversation:
    make, reward, turns = EvaluationFactory(), CUDAPerformanceReward(), []
    for index, outcome in enumerate(outcomes):
        evaluation = make.failed(outcome) if isinstance(outcome, Verdict) else make.passed(outcome)
        length = tokens[index] if tokens else 2
        agent: AgentRole = "optimizer" if index else "generator"
        finish: FinishReason = "length" if length > 5 else "stop"
        turns.append(
            ConversationTurn(
                index=index,
                agent=agent,
                messages=(Message(role="user", content="write"),),
                generation=Generation(
                    text="", token_ids=(1,) * length, log_probs=(-0.5,) * length, finish_reason=finish
                ),
                evaluation=evaluation,
                reward=reward(evaluation),
            )
        )
    return Conversation(
        conversation_id=f"{task}-{outcomes}",
        task=task,
        turns=tuple(turns),
        stop_reason="max_turns",
        discount=0.9,
        max_turns=len(turns),
        opening_turns=opening,
        step=1,
        phase="train",
    )


def curves(*conversations: Conversation) -> dict[str, float]:
    return curve_values(conversations, TIERS.__getitem__)


def test_rewards_are_told_by_turn_and_by_agent() -> None:
    one = conversation("easy", Verdict.COMPILE_ERROR, 2.0)
    first, second = (turn.reward.total for turn in one.turns)
    found = curves(one, conversation("easy", 2.0))
    assert found["reward_turn1"] == pytest.approx((first + second) / 2)
    assert found["reward_generator"] == found["reward_turn1"]
    assert found["reward_turn2"] == found["reward_optimizer"] == second
    assert "reward_turn3" not in found
    assert "reward_tester" not in found


def test_a_turn_after_an_opening_keeps_its_place() -> None:
    found = curves(conversation("easy", Verdict.COMPILE_ERROR, 2.0, opening=1))
    assert "reward_turn1" not in found
    assert found["reward_turn2"] > 0


def test_rates_are_told_by_tier() -> None:
    found = curves(
        conversation("easy", 1.0),
        conversation("easy", Verdict.WRONG_RESULT),
        conversation("hard", Verdict.COMPILE_ERROR),
    )
    assert (found["pass_rate_tier0"], found["compile_rate_tier0"]) == (0.5, 1.0)
    assert (found["pass_rate_tier2"], found["compile_rate_tier2"]) == (0.0, 0.0)
    assert "pass_rate_tier1" not in found


def test_speedups_are_those_of_the_passed_alone() -> None:
    found = curves(
        *(conversation("easy", speedup) for speedup in (1.0, 2.0, 6.0)), conversation("easy", Verdict.CRASHED)
    )
    assert (found["speedup_mean"], found["speedup_median"], found["speedup_best"]) == pytest.approx(
        (3.0, 2.0, 6.0)
    )
    assert not any(name.startswith("speedup") for name in curves(conversation("easy", Verdict.CRASHED)))


def test_refused_hacks_are_counted_by_kind_in_turns() -> None:
    found = curves(
        conversation("easy", Verdict.TOO_FAST, Verdict.UNSAFE, Verdict.TOO_FAST), conversation("easy", 1.0)
    )
    assert (found["refused"], found["refused_too_fast"], found["refused_unsafe"]) == (3, 2, 1)
    assert found["refused_input_changed"] == 0, "somebody counted"
    assert "refused_wrong_result" not in found


def test_length_and_surprise_of_answers() -> None:
    found = curves(conversation("easy", 1.0, 1.0, tokens=(2, 8)))
    assert (found["answer_tokens_p90"], found["answers_cut_share"], found["entropy_sampled"]) == (
        2.0,
        0.5,
        0.5,
    )


def span(activity: Activity, began_s: float, seconds: float) -> ActivitySpan:
    return ActivitySpan(step=1, activity=activity, began_s=began_s, seconds=seconds, entries=1)


def test_the_parts_of_a_step_do_not_overlap_and_add_up_to_it() -> None:
    spans = [span("sampling", 0, 10), span("judging", 4, 3), span("judging", 9, 5), span("sampling", 12, 4)]
    values = activity_values(spans)
    assert values == {"sampling_s": 14, "judging_s": 8, "judging_alone_s": 2}
    values |= {"step_s": 30.0, "update_s": 9.0, "checkpoint_s": 1.0}
    assert rest_of_step(values) == {"other_s": 4}
    assert rest_of_step({"update_s": 9.0}) == {}, "nobody timed the step"


def test_tokens_a_second_need_both_numbers() -> None:
    assert speeds({"new_tokens": 100.0, "sampling_s": 4.0, "update_s": 2.0}) == {
        "sampling_tokens_per_s": 25.0
    }


def test_what_the_judge_counted_is_added_up_over_the_episodes_of_a_step() -> None:
    lines = [
        JudgeCounts(step=1, counts=PoolCounts(judged=3, compiled=2, compile_cache_hits=1, waited_s=6)),
        JudgeCounts(step=1, counts=PoolCounts(judged=1, remembered=4, waited_s=2)),
    ]
    found = judge_values(lines, judging_s=4.0)
    assert (found["judged"], found["verdicts_remembered"], found["compile_cache_hits"]) == (4, 4, 1)
    assert (found["judgements_per_s"], found["judge_queue"]) == (2.0, 2.0)
    assert "judge_queue" not in judge_values(lines, judging_s=None)
    assert judge_values([], judging_s=4.0) == {}


def test_every_name_has_a_line_in_the_docs() -> None:
    text = (Path(__file__).parents[2] / "docs" / "watching.md").read_text()
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    documented = {
        re.sub("<.*?>", "#", name) for row in rows for name in re.findall("`(.*?)`", row.split("|")[1])
    }
    conversations = [conversation("vector_add", *REFUSED_AS_HACKS, 1.0)]
    spans = [span("sampling", 0, 1), span("judging", 0, 1)]
    values = (
        conversation_values(conversations, [], lambda _: 0)
        | activity_values(spans)
        | judge_values([JudgeCounts(step=1, counts=PoolCounts())], 1.0)
    )
    values |= dict.fromkeys(_FROM_VERL.values(), 1.0)
    values |= rest_of_step(values) | speeds(values)
    names = {re.sub(r"(turn|tier)\d+$", r"\1#", name) for name in values}
    names = {re.sub("^refused_.*", "refused_#", name) for name in names}
    names = {re.sub("^reward_(generator|optimizer|tester)$", "reward_#", name) for name in names}
    assert names - documented == set()
