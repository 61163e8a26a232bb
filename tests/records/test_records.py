"""Illegal states cannot be built."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from coding_framework.cuda.verdicts import unsafe_words
from coding_framework.data.tasks import all_tasks, get_task
from coding_framework.records import (
    Candidate,
    CompilationResult,
    Conversation,
    ConversationTurn,
    Diagnostic,
    Evaluation,
    Finding,
    Gate,
    Generation,
    KernelTiming,
    Message,
    RewardComponents,
    ShapeCheck,
    Task,
    Verdict,
)

TIMING: dict[str, Any] = {
    "device": "H200",
    "dimensions": {"n": 4},
    "median_us": 2.0,
    "reference_median_us": 5.0,
    "floor_us": 1.0,
}


def turn(index: int, reward: float) -> ConversationTurn:
    return ConversationTurn(
        index=index,
        agent="generator" if index == 0 else "optimizer",
        messages=(Message(role="user", content="write"),),
        generation=Generation(text="no code"),
        evaluation=Evaluation(task="scale", candidate=None, verdict=Verdict.NO_CANDIDATE, message="no code"),
        reward=RewardComponents(preset="weighted", parts={"all": reward}, total=reward, explanation=""),
    )


def conversation(*rewards: float, max_turns: int = 3) -> Conversation:
    return Conversation(
        conversation_id="c",
        task="scale",
        turns=tuple(turn(index, reward) for index, reward in enumerate(rewards)),
        stop_reason="max_turns",
        discount=0.5,
        max_turns=max_turns,
    )


def test_records_are_frozen_and_refuse_unknown_fields() -> None:
    candidate = Candidate(source="x")
    with pytest.raises(ValidationError):
        candidate.source = "y"  # type: ignore[misc]
    with pytest.raises(ValidationError):
        Candidate(source="x", sauce="y")  # type: ignore[call-arg]


def test_equal_candidates_have_equal_digests_and_contracts_are_told_apart() -> None:
    assert Candidate(source="x").digest == Candidate(source="x").digest
    assert Candidate(source="x").digest != Candidate(source="x", contract="module").digest
    assert Candidate(source="\ufeffx") == Candidate(source="x"), "a byte-order mark is none of the text"


def test_a_modelled_time_has_no_interval_and_a_measured_one_must() -> None:
    assert KernelTiming(kind="modelled", **TIMING).speedup == 2.5
    with pytest.raises(ValidationError, match="interval"):
        KernelTiming(kind="modelled", interval_us=(1.0, 3.0), **TIMING)
    with pytest.raises(ValidationError, match="interval"):
        KernelTiming(kind="measured", **TIMING)
    assert KernelTiming(kind="measured", interval_us=(1.0, 3.0), **TIMING).kind == "measured"


def test_a_candidate_passes_if_and_only_if_it_was_timed() -> None:
    with pytest.raises(ValidationError, match="if and only if it passed"):
        Evaluation(task="t", candidate=None, verdict=Verdict.PASSED, message="")
    with pytest.raises(ValidationError, match="if and only if it passed"):
        Evaluation(
            task="t",
            candidate=None,
            verdict=Verdict.WRONG_RESULT,
            message="",
            timing=KernelTiming(kind="modelled", **TIMING),
        )


def test_an_evaluation_that_did_not_get_far_has_rates_of_zero() -> None:
    evaluation = Evaluation(task="t", candidate=None, verdict=Verdict.NO_CANDIDATE, message="no code")
    assert (evaluation.compiled, evaluation.passed, evaluation.pass_rate, evaluation.speedup) == (
        False,
        False,
        0.0,
        None,
    )


def test_the_pass_rate_counts_against_the_checks_that_were_planned() -> None:
    check = ShapeCheck(dimensions={"n": 1}, distribution="normal", hidden=False, passed=True)
    evaluation = Evaluation(
        task="t",
        candidate=None,
        verdict=Verdict.WRONG_RESULT,
        message="",
        checks=(check, check.model_copy(update={"passed": False})),
        num_checks_planned=4,
    )
    assert evaluation.pass_rate == 0.25


def test_every_verdict_belongs_to_a_gate() -> None:
    assert {verdict.gate for verdict in Verdict} <= set(Gate)
    assert Verdict.COMPILE_ERROR.gate is Gate.COMPILE


def test_a_compilation_succeeds_if_and_only_if_it_has_a_binary() -> None:
    facts: dict[str, Any] = {
        "compiler": "nvrtc",
        "toolkit": "13.0",
        "architecture": "sm_90",
        "duration_s": 0.1,
    }
    with pytest.raises(ValidationError, match="has a binary"):
        CompilationResult(success=True, **facts)
    with pytest.raises(ValidationError, match="names its kernels"):
        CompilationResult(success=True, binary_path=Path("a"), ptx="", **facts)
    failed = CompilationResult(
        success=False,
        diagnostics=(
            Diagnostic(severity="error", message="no"),
            Diagnostic(severity="warning", message="hm"),
        ),
        **facts,
    )
    assert [d.message for d in failed.errors] == ["no"]
    assert [d.message for d in failed.warnings] == ["hm"]
    with pytest.raises(ValueError, match="no kernel"):
        _ = failed.kernel_name


def test_log_probabilities_belong_to_tokens() -> None:
    with pytest.raises(ValidationError, match="differ in length"):
        Generation(text="", token_ids=(1, 2), log_probs=(0.0,))


def test_a_reward_is_the_clipped_sum_of_its_parts() -> None:
    with pytest.raises(ValidationError, match="do not add up"):
        RewardComponents(preset="p", parts={"a": 0.5}, total=0.6, explanation="")
    assert RewardComponents(preset="p", parts={"a": 0.9, "b": 0.3}, total=1.0, explanation="").total == 1.0


def test_returns_discount_what_comes_later() -> None:
    assert conversation(0.0, 0.2, 0.8).returns == pytest.approx((0.0 + 0.1 + 0.2, 0.2 + 0.4, 0.8))


def test_stopping_early_with_a_good_kernel_is_worth_no_less_than_failing_first() -> None:
    at_once = conversation(0.9).returns[0]
    after_a_failure = conversation(0.3, 0.9).returns[0]
    assert at_once == pytest.approx(0.9 * 1.75)
    assert at_once > after_a_failure


def test_the_best_turn_is_the_one_that_earned_most() -> None:
    assert conversation(0.1, 0.7, 0.2).best_turn.index == 1


def test_a_task_refuses_shapes_that_do_not_name_its_dimensions() -> None:
    task = get_task("vector_add")
    fields = {name: getattr(task, name) for name in Task.model_fields}
    with pytest.raises(ValidationError, match="must name exactly"):
        Task(**{**fields, "hidden_shapes": ({"m": 3},)})
    with pytest.raises(ValidationError, match="below 1"):
        Task(**{**fields, "timing_shape": {"n": 0}})
    with pytest.raises(ValidationError, match="share a name"):
        Task(**{**fields, "outputs": task.inputs})


@pytest.mark.parametrize("task", all_tasks(), ids=lambda task: task.name)
def test_a_task_without_its_oracle_becomes_json(task: Task) -> None:
    assert '"oracle"' not in task.model_dump_json()
    assert task.default_arguments[-len(task.dimensions) :] == task.dimensions


@pytest.mark.parametrize("reason", ["`fopen` reads files.", "`fopen` reads files"])
def test_the_words_of_a_finding_have_one_full_stop_after_each_sentence(reason: str) -> None:
    finding = Finding(
        rule="file-access", category="security", severity="critical", reason=reason, suggestion="Remove it."
    )
    assert finding.words == "`fopen` reads files. Remove it."
    assert ".." not in unsafe_words(finding)
