"""The benchmark of SFT takes real steps, says where their time went, and gives TRL the same ones."""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from typer.testing import CliRunner

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("peft")

from coding_framework.cli.bench_sft import show
from coding_framework.cli.main import app
from coding_framework.errors import MissingExtraError
from coding_framework.evaluation.bench.sft_records import BenchSFTResult
from tiny_model import write_tiny_model

FEW = ["--steps", "2", "--warm-up", "1", "--set", "sft.batch_size=2", "--set", "sft.max_length=4096"]
PACKED = ["--set", "model.attention=packed", "--set", "sft.batch_tokens=8192"]


@pytest.fixture(scope="module")
def model_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("tiny"), context=4096)


def bench(model_path: Path, *options: str) -> BenchSFTResult:
    outcome = CliRunner().invoke(app, ["bench", "sft", "--model", str(model_path), *FEW, *options, "--json"])
    assert outcome.exit_code == 0, outcome.output
    return BenchSFTResult.model_validate(json.loads(outcome.stdout.strip().splitlines()[-1]))


@pytest.mark.parametrize("method", ["lora", "full"])
def test_a_steps_parts_fill_its_time(
    model_path: Path, method: str, capsys: pytest.CaptureFixture[str]
) -> None:
    result = bench(model_path, "--method", method)
    ours = result.ours
    assert (result.method, result.pairs_per_step, result.row_tokens) == (method, 2, None)
    assert (ours.steps, len(ours.losses)) == (2, 3)
    assert ours.tokens > ours.answer_tokens > 0
    assert ours.split is not None
    parts = sum(ours.split.model_dump().values())
    assert 0.5 * ours.seconds < parts <= ours.seconds
    show(result)
    assert f"{ours.tokens_per_s:,.0f}" in capsys.readouterr().out


@pytest.mark.skipif(find_spec("trl") is None, reason="needs TRL (the extra `compare`)")
@pytest.mark.parametrize("options", [[], PACKED], ids=["padded", "packed"])
def test_trl_learns_from_the_same_tokens(
    model_path: Path, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    result = bench(model_path, "--compare", "trl", *options)
    assert result.trl is not None
    assert result.trl.trainer.startswith("TRL 1.")
    assert (result.trl.tokens, result.trl.answer_tokens) == (result.ours.tokens, result.ours.answer_tokens)
    assert result.trl.losses[0] == pytest.approx(result.ours.losses[0], rel=1e-2)
    show(result)
    assert "times as many tokens" in capsys.readouterr().out


def test_a_comparison_without_trl_is_refused_before_anything_is_measured(
    model_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "trl", raising=False)
    monkeypatch.setattr("coding_framework.evaluation.bench.trl_bench.find_spec", lambda _: None)
    outcome = CliRunner().invoke(app, ["bench", "sft", "--model", str(model_path), *FEW, "--compare", "trl"])
    assert isinstance(outcome.exception, MissingExtraError)
    assert "coding_framework[compare]" in str(outcome.exception)
