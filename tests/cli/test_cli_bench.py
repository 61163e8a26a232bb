"""`cuda-rl bench` prints a table for people and one record for programs."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from coding_framework.cli import bench
from coding_framework.cli.main import app
from coding_framework.evaluation.bench.records import (
    BenchJudgeResult,
    CompileFigures,
    JudgeFigures,
    LoadInlineComparison,
    MemorySample,
    SoakResult,
)
from coding_framework.records import Gate

FEW = ["--executor", "emulator", "--judgements", "2", "--workers", "1"]
RESULT = BenchJudgeResult(
    cores=16,
    device="NVIDIA X",
    architecture="sm_90",
    compiling=CompileFigures(
        num_compiles=100, workers=16, cold_per_s=250.5, cached_per_s=2000, latency_ms=40.1, caller_cpu_ms=2.5
    ),
    judging=JudgeFigures(
        num_judgements=100,
        workers=16,
        cold_per_s=45.25,
        cached_per_s=60,
        remembered_per_s=10000,
        latency_s=0.3,
        caller_cpu_ms=0.7,
        gate_shares={Gate.COMPILE: 0.25, Gate.TIME: 0.75},
        verdicts={"passed": 100},
        time_kind="measured",
    ),
    comparison=LoadInlineComparison(
        load_inline_s=30.0, kernel_s=0.05, extension_s=3.0, extension_header="light", missing=()
    ),
    duration_s=60,
)


def test_the_record_of_the_judges_benchmark_is_on_standard_output() -> None:
    outcome = CliRunner().invoke(app, ["bench", "judge", *FEW, "--seconds", "1", "--no-compare", "--json"])
    assert outcome.exit_code == 0, outcome.output
    record = json.loads(outcome.stdout.strip().splitlines()[-1])
    assert record["compiling"]["num_compiles"] == 2
    assert record["judging"]["workers"] == 1
    assert record["comparison"]["missing"] == ["not asked for"]


def test_a_clean_soak_ends_with_zero() -> None:
    outcome = CliRunner().invoke(app, ["bench", "soak", *FEW, "--run-timeout-s", "5"])
    assert outcome.exit_code == 0, outcome.output
    assert "2 of 2" in outcome.stdout
    assert "clean" in outcome.stdout


def test_a_soak_that_lost_a_verdict_ends_with_one(monkeypatch: pytest.MonkeyPatch) -> None:
    sample = MemorySample(num_judgements=1, host_bytes=2**20, num_processes=1, gpu_bytes=2**20)
    lost = SoakResult(
        num_asked=2,
        num_verdicts=1,
        num_hostile=1,
        num_hostile_passed=0,
        num_honest_failed=0,
        num_faults=3,
        verdicts={"timeout": 1},
        samples=(sample,),
        leaked_processes=(),
        leaked_descriptors=0,
        host_growth_bytes=0,
        gpu_growth_bytes=0,
        duration_s=1.0,
    )
    monkeypatch.setattr("coding_framework.evaluation.bench.soak.soak", lambda *_, **__: lost)
    outcome = CliRunner().invoke(app, ["bench", "soak", *FEW])
    assert outcome.exit_code == 1
    assert "1 verdicts are missing" in outcome.stdout
    outcome = CliRunner().invoke(app, ["bench", "soak", *FEW, "--json"])
    assert outcome.exit_code == 1
    assert SoakResult.model_validate_json(outcome.stdout.strip().splitlines()[-1]) == lost


def test_the_table_has_every_figure() -> None:
    shown = "; ".join(f"{name}: {figure} {how}" for name, figure, how in bench._judge_rows(RESULT))
    for figure in (
        "250.5",
        "2,000",
        "40.1 ms",
        "45.25",
        "25.0%",
        "75.0%",
        "30.000 s",
        "600 times",
        "10 times",
    ):
        assert figure in shown


def test_what_is_not_available_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    bare = LoadInlineComparison(missing=("load_inline: not available here: no ninja",))
    bench._show_judge(RESULT.model_copy(update={"comparison": bare}))
    shown = capsys.readouterr().out
    assert "no ninja" in shown
    assert "no ratio here" in shown
