"""Several tries on one problem, with hand-made verdicts, and the picture of their course."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from coding_framework.config import ConversationConfig, JudgeConfig, RewardConfig
from coding_framework.data.tasks import get_task
from coding_framework.orchestration.optimize_records import OptimizeFolder, OptimizeSettings
from coding_framework.orchestration.optimizing import Optimization
from coding_framework.orchestration.steps import JudgeFn
from coding_framework.orchestration.trajectory import best_so_far, text_chart, trajectory_svg
from coding_framework.records import (
    Candidate,
    ConversationTurn,
    Evaluation,
    Generation,
    GenerationRequest,
    Message,
    Task,
    Verdict,
)
from coding_framework.training.reward_functions.cuda_performance_reward import CUDAPerformanceReward
from tests_support import EvaluationFactory

TASK = get_task("scale")
SETTINGS = OptimizeSettings(
    problem="scale",
    problem_name="scale",
    model="scripted",
    tries=2,
    conversation=ConversationConfig(max_turns=2, early_stop_reward=1.0),
    reward=RewardConfig(),
    judge=JudgeConfig(executor="emulator"),
)


async def number_the_kernels(request: GenerationRequest) -> Generation:
    """A kernel that is called after the request's seed: different in every turn, the same in every run."""
    return Generation(text=f"```cuda\n__global__ void k{request.seed}() {{}}\n```")


def judge_saying(*verdicts: Evaluation) -> JudgeFn:
    left = list(verdicts)

    async def judge(task: Task, candidate: Candidate) -> Evaluation:
        return left.pop(0).model_copy(update={"candidate": candidate})

    return judge


def optimization(folder: Path, judge: JudgeFn, confirm: JudgeFn) -> Optimization:
    return Optimization(
        TASK,
        "naive\n",
        SETTINGS,
        OptimizeFolder(folder),
        judge=judge,
        confirm=confirm,
        reward=CUDAPerformanceReward(),
        is_faster=lambda timing: timing.speedup > 1.01,
    )


async def test_a_kernel_that_is_not_faster_when_judged_again_is_passed_over(
    evaluations: EvaluationFactory, tmp_path: Path
) -> None:
    seen = [evaluations.failed(Verdict.TIMEOUT), *(evaluations.passed(s) for s in (3.0, 1.0, 2.0))]
    one = optimization(
        tmp_path, judge_saying(*seen), judge_saying(evaluations.passed(0.9), evaluations.passed(1.9))
    )
    OptimizeFolder(tmp_path).begin(SETTINGS)
    outcome = await one.run(number_the_kernels)
    assert outcome.improved
    assert (outcome.best_try, outcome.best_turn, outcome.unconfirmed) == (1, 1, 1)
    assert outcome.best is not None
    assert outcome.best.speedup == pytest.approx(1.9)
    assert (outcome.tries, outcome.turns, outcome.passed) == (2, 4, 3)
    assert (tmp_path / "best.cu").read_text() == outcome.best.candidate.source  # type: ignore[union-attr]
    assert (tmp_path / "best.diff").read_text().startswith("--- naive\n+++ best\n")


async def test_nothing_better_leaves_no_kernel_behind(evaluations: EvaluationFactory, tmp_path: Path) -> None:
    failed = [evaluations.failed(Verdict.DATA_RACE)] * 4
    OptimizeFolder(tmp_path).begin(SETTINGS)
    outcome = await optimization(tmp_path, judge_saying(*failed), judge_saying()).run(number_the_kernels)
    assert not outcome.improved
    assert outcome.best_speedup_seen is None
    assert not (tmp_path / "best.cu").exists()
    assert (tmp_path / "trajectory.svg").is_file()


async def test_finished_tries_are_read_and_not_run_again(
    evaluations: EvaluationFactory, tmp_path: Path
) -> None:
    OptimizeFolder(tmp_path).begin(SETTINGS)
    passed = [evaluations.passed(1.0)] * 4
    await optimization(tmp_path, judge_saying(*passed), judge_saying()).run(number_the_kernels)
    told: list[tuple[int, int]] = []
    again = optimization(tmp_path, judge_saying(), judge_saying())
    await again.run(number_the_kernels, lambda number, turn: told.append((number, turn.index)))
    assert told == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert len((tmp_path / "conversations.jsonl").read_text().splitlines()) == 2


def turn(index: int, evaluation: Evaluation) -> ConversationTurn:
    return ConversationTurn(
        index=index,
        agent="generator" if index == 0 else "optimizer",
        messages=(Message(role="user", content="x"),),
        generation=Generation(text="y"),
        evaluation=evaluation,
        reward=CUDAPerformanceReward()(evaluation, ()),
    )


@pytest.fixture
def attempts(evaluations: EvaluationFactory) -> list[list[ConversationTurn]]:
    first = [evaluations.failed(Verdict.COMPILE_ERROR), evaluations.passed(2.0)]
    second = [evaluations.passed(0.5), evaluations.passed(4.0)]
    return [[turn(index, one) for index, one in enumerate(attempt)] for attempt in (first, second)]


def test_the_picture_shows_every_turn_and_the_best_so_far(attempts: list[list[ConversationTurn]]) -> None:
    svg = trajectory_svg("a < b", attempts)
    root = ElementTree.fromstring(svg)
    words = [element.text for element in root.iter() if element.text]
    assert sum("circle" in element.tag for element in root.iter()) == 3
    assert "compile error" in words
    assert "best 4.00×" in words
    assert {"try 1", "try 2"} <= set(words)
    assert any("2.00×, 5.00 us (modelled on H200)" in text for text in words)
    heights = [float(e.attrib["cy"]) for e in root.iter() if "circle" in e.tag]
    assert heights[2] < heights[0] < heights[1]


def test_the_best_so_far_only_rises(attempts: list[list[ConversationTurn]]) -> None:
    assert best_so_far(attempts) == [None, pytest.approx(2.0), pytest.approx(2.0), pytest.approx(4.0)]


def test_the_text_chart_has_one_line_a_turn(attempts: list[list[ConversationTurn]]) -> None:
    lines = text_chart(attempts, width=8)
    assert lines[0] == "try 1 turn 1  ·  compile error"
    assert lines[1] == "try 1 turn 2  ████ 2.00×"
    assert lines[3] == "try 2 turn 2  ████████ 4.00×"


def test_a_course_without_turns_is_no_picture() -> None:
    with pytest.raises(ValueError, match="no turn"):
        trajectory_svg("empty", [[]])
