"""Two runs of the same kernel are compared as `cuda-rl bench repeat` says."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from coding_framework.cli.main import app
from coding_framework.config import JudgeConfig
from coding_framework.data.tasks import all_tasks
from coding_framework.errors import NotAvailableError
from coding_framework.evaluation.bench import repeat as repeat_module
from coding_framework.evaluation.bench.records import RepeatedKernel, RepeatResult


def twice(name: str, first: float, second: float, margin: float = 0.04) -> RepeatedKernel:
    intervals = tuple(((1 - margin) * median, (1 + margin) * median) for median in (first, second))
    return RepeatedKernel(name=name, medians_us=(first, second), intervals_us=(intervals[0], intervals[1]))


def result_of(*kernels: RepeatedKernel) -> RepeatResult:
    return RepeatResult(kernels=kernels, duration_s=1.0)


def test_runs_that_agree_are_no_complaint_and_the_least_alike_come_first() -> None:
    result = result_of(twice("near", 100, 100.5), twice("apart", 102, 100), twice("equal", 50, 50))
    assert result.complaints == ()
    assert [kernel.name for kernel in result.counted] == ["apart", "near", "equal"]
    assert result.counted[0].difference == pytest.approx(0.02)


@pytest.mark.parametrize("medians", [(100.0, 103.5), (103.5, 100.0)])
def test_medians_further_apart_than_promised_are_named(medians: tuple[float, float]) -> None:
    result = result_of(twice("fine", 100, 100), twice("apart", *medians, margin=0.1))
    assert result.complaints == ("apart: the medians of two runs differ by 3.5%",)


@pytest.mark.parametrize("narrow", [0, 1])
def test_an_interval_that_misses_the_other_median_is_named(narrow: int) -> None:
    wide, tight = (90.0, 110.0), (99.9, 100.1)
    medians = (100.0, 102.0) if narrow == 0 else (102.0, 100.0)
    intervals = (tight, wide) if narrow == 0 else (wide, tight)
    missed = RepeatedKernel(name="missed", medians_us=medians, intervals_us=intervals)
    assert result_of(missed).complaints == ("missed: one run's interval does not hold the other's median",)


def test_short_kernels_are_not_compared_and_a_run_of_them_alone_proves_nothing() -> None:
    short = twice("short", 10, 15)
    assert result_of(short, twice("long", 30, 30)).complaints == ()
    (complaint,) = result_of(short).complaints
    assert "nothing was compared" in complaint


def test_a_kernel_without_a_time_is_a_complaint() -> None:
    lost = RepeatedKernel(name="lost", failure="timeout: it did not end")
    complaints = result_of(lost, twice("long", 30, 30)).complaints
    assert complaints == ("lost gave no time: timeout: it did not end",)


def test_a_modelled_time_is_not_compared() -> None:
    with pytest.raises(NotAvailableError, match="needs a GPU"):
        repeat_module.repeat(JudgeConfig(executor="emulator"))


def test_the_least_alike_are_shown_and_the_exit_code_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    results = [result_of(twice("good", 1200, 1201)), result_of(twice("bad", 100, 110))]
    monkeypatch.setattr(repeat_module, "repeat", lambda *_, **__: results[0])
    arguments = ["bench", "repeat", "--executor", "emulator", "--workers", "1"]
    outcome = CliRunner().invoke(app, arguments)
    assert outcome.exit_code == 0, outcome.output
    assert "1,200.0 µs" in outcome.stdout
    assert "two runs agree" in outcome.stdout
    results.pop(0)
    outcome = CliRunner().invoke(app, [*arguments, "--json"])
    assert outcome.exit_code == 1
    assert json.loads(outcome.stdout.strip().splitlines()[-1])["kernels"][0]["name"] == "bad"


def test_every_kernel_of_the_catalogue_is_judged_twice() -> None:
    names = [kernel.name for kernel in repeat_module._kernels()]
    assert len(names) == len(set(names))
    assert {name.split(".")[0] for name in names} == {task.name for task in all_tasks()}
    assert repeat_module.num_judgements() == 2 * len(names)
