"""The records behind the before/after table."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from coding_framework.monitoring.results import EvaluationReport, ModelResult, TaskResult, wilson_interval
from coding_framework.records import TimeKind


def result(task: str = "scale", passed: int = 0, *, kind: TimeKind = "modelled", tier: int = 0) -> TaskResult:
    speedup = 1.5 if passed else None
    return TaskResult(
        task=task,
        tier=tier,
        held_out=task == "gelu",
        samples=8,
        compiled=max(passed, 2),
        passed=passed,
        best_speedup=speedup,
        median_speedup=speedup,
        time_kind=kind if passed else None,
    )


def test_the_interval_is_wilsons() -> None:
    interval = wilson_interval(10, 20)
    assert interval.value == 0.5
    assert interval.low == pytest.approx(0.2993, abs=1e-4)
    assert interval.high == pytest.approx(0.7007, abs=1e-4)
    none = wilson_interval(0, 10)
    assert (none.low, none.high) == (0.0, pytest.approx(0.2775, abs=1e-4))
    assert wilson_interval(10, 10).high == 1.0
    with pytest.raises(ValueError, match="no share"):
        wilson_interval(2, 1)


def test_a_speedup_without_a_pass_cannot_be_built() -> None:
    broken = result().model_dump() | {"best_speedup": 2.0}
    with pytest.raises(ValidationError, match="if and only if one passed"):
        TaskResult.model_validate(broken)


def test_more_passes_than_compilations_cannot_be_built() -> None:
    with pytest.raises(ValidationError, match="passed <= compiled"):
        TaskResult.model_validate(result(passed=3).model_dump() | {"compiled": 2})


def test_modelled_and_measured_times_cannot_meet_in_one_report() -> None:
    base = ModelResult(label="base", model=Path("m"), tasks=(result(passed=1),), seconds=1)
    sft = ModelResult(label="sft", model=Path("m"), tasks=(result(passed=1, kind="measured"),), seconds=1)
    with pytest.raises(ValidationError, match="cannot be compared"):
        EvaluationReport(models=(base, sft))


def test_rows_are_every_task_once_by_tier() -> None:
    base = ModelResult(
        label="base", model=Path("m"), tasks=(result("matmul", tier=2), result("scale")), seconds=1
    )
    rl = ModelResult(label="rl", model=Path("m"), tasks=(result("scale"), result("gelu", 4)), seconds=1)
    report = EvaluationReport(models=(base, rl))
    assert [row.task for row in report.rows] == ["scale", "gelu", "matmul"]
    held_out = rl.pass_rate(held_out=True)
    assert held_out is not None
    assert held_out.value == 0.5
    assert base.pass_rate(held_out=True) is None
