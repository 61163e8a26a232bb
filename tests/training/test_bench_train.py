"""`cuda-rl bench train` takes real steps of SFT and RL, and new weights reach what samples."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

pytest.importorskip("verl")

from kernel_words_model import write_kernel_words_model
from rollout_distance import TEMPERATURE, distance_of_step

from coding_framework.cli.bench_train import _show
from coding_framework.cli.main import app
from coding_framework.evaluation.bench.train_records import BenchTrainResult

pytestmark = pytest.mark.slow

SETTINGS = {
    "tasks.train": '["vector_add"]',
    "sft.batch_size": 2,
    "rl.prompts_per_step": 1,
    "rl.group_size": 8,
    "rl.learning_rate": 0.05,
    "rl.lora_rank": 4,
    "rl.temperature": TEMPERATURE,
    "conversation.max_turns": 1,
    "conversation.max_prompt_tokens": 512,
    "conversation.max_response_tokens": 16,
    "judge.workers": 1,
}


def test_steps_have_parts_and_an_adapter_reaches_what_samples(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, run = write_kernel_words_model(tmp_path / "model", "vector_add"), tmp_path / "run"
    settings = [word for key, value in SETTINGS.items() for word in ("--set", f"{key}={value}")]
    asked = ["--model", str(model), "--steps", "3", "--sft-steps", "2", "--keep", str(run), "--json"]
    outcome = CliRunner().invoke(app, ["bench", "train", *asked, *settings])
    assert outcome.exit_code == 0, outcome.output
    result = BenchTrainResult.model_validate(json.loads(outcome.stdout.strip().splitlines()[-1]))

    assert result.sft is not None
    assert (result.sft.ours.steps, result.weights) == (2, "LoRA rank 4")
    assert list(result.start) == ["processes", "policy", "rollout", "ready", "first_answer"]
    assert list(result.start.values()) == sorted(result.start.values())
    assert [step.step for step in result.steps] == [1, 2, 3]
    for step in result.steps:
        assert (step.episodes, step.episodes_lost, step.judgements) == (8, 0, 8)
        assert step.new_tokens > 0
        assert 0 < step.sampling_s + step.update_s + step.sync_s < step.seconds
    _show(result)
    assert f"{result.rollout_tokens_per_s:,.0f} new tokens/s" in capsys.readouterr().out
    _the_rollout_follows_the_policy(result, run, model)


def _the_rollout_follows_the_policy(result: BenchTrainResult, run: Path, start: Path) -> None:
    """The policy has moved away from its start, and what sampled has moved with it."""
    assert distance_of_step(run, start, 1) < 1e-4
    assert distance_of_step(run, start, 3) > 1e-2
    gaps = [step.logprob_gap for step in result.steps if step.logprob_gap is not None]
    assert gaps, "some step had a signal"
    assert max(gaps) < 1e-4
