"""The switch of the strict memory model, from the config to the verdict, both ways."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from coding_framework.config import JudgeConfig
from coding_framework.cuda.judge import Judge
from coding_framework.data.tasks import get_task
from coding_framework.records import Candidate, Evaluation, Verdict
from judge_suite import CHEATS

RACE, MASK, IDLE = "39_warp_without_syncwarp", "50_shuffles_outside_the_mask", "50_maximum_from_idle_lanes"


@pytest.fixture(scope="module")
def strict() -> Iterator[Judge]:
    judge = Judge(JudgeConfig(executor="emulator"))
    yield judge
    judge.close()


@pytest.fixture(scope="module")
def lenient() -> Iterator[Judge]:
    judge = Judge(JudgeConfig(executor="emulator", strict_memory_model=False))
    yield judge
    judge.close()


def _judged(judge: Judge, name: str, task: str = "row_sum") -> Evaluation:
    source = (CHEATS / "kernel" / f"{name}.cu").read_text("utf-8")
    return judge.judge(get_task(task), Candidate(source=source))


def test_by_itself_what_is_undefined_is_a_verdict(strict: Judge) -> None:
    assert _judged(strict, RACE).verdict is Verdict.DATA_RACE
    assert _judged(strict, MASK).verdict is Verdict.UNDEFINED
    idle = _judged(strict, IDLE, "row_max")
    assert idle.verdict is Verdict.WRONG_RESULT
    assert "The shuffle on line 13 reads from a lane that takes no part" in idle.message


@pytest.mark.parametrize(
    ("name", "task", "rule", "line"),
    [
        (RACE, "row_sum", "race-within-a-warp", 11),
        (MASK, "row_sum", "undefined-in-a-warp", 8),
        (IDLE, "row_max", "undefined-in-a-warp", 13),
    ],
)
def test_without_the_strict_model_it_is_a_finding(
    lenient: Judge, name: str, task: str, rule: str, line: int
) -> None:
    evaluation = _judged(lenient, name, task)
    assert evaluation.verdict is Verdict.PASSED, evaluation.message
    found = [finding for finding in evaluation.findings if finding.rule == rule]
    assert [finding.line for finding in found] == [line]
    assert found[0].suggestion
