"""The command lines that the documentation gives: each prints a plan that does what it says, or refuses."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from coding_framework.training.plan.records import TrainingPlan

ROOT = Path(__file__).parents[1]
SCRIPT = str(ROOT / "launch_complete_cuda_training.py")
ALL_PHASES = ["model", "pairs", "sft", "rl", "evaluation"]


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """As a user would, on a machine without a GPU."""
    hidden = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    return subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, cwd=folder, env=hidden, check=False
    )


def plan_of(folder: Path, *flags: str) -> TrainingPlan:
    answer = run(folder, SCRIPT, *flags, "--plan", "--json")
    assert answer.returncode == 0, answer.stderr
    assert not list(folder.iterdir()), "a plan creates nothing"
    return TrainingPlan.model_validate_json(answer.stdout)


def phases(plan: TrainingPlan) -> list[str]:
    return [phase.name for phase in plan.phases]


def test_full_training(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    assert phases(plan) == ALL_PHASES
    assert plan.phases[3].episodes == plan.config.rl.steps * 4 * 8
    assert [device.device for device in plan.devices] == ["CPU"]
    assert plan.judge.place == "no_card"


def test_sft_only(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, "--skip-rl")
    assert phases(plan) == ["model", "pairs", "sft", "evaluation"]
    assert plan.phases[-1].what.startswith("2 models")


def test_rl_only(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, "--skip-sft")
    assert phases(plan) == ["model", "rl", "evaluation"]
    assert plan.phases[-1].what.startswith("2 models")


def test_quick_test(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, "--quick-test")
    assert phases(plan) == ALL_PHASES
    assert (plan.phases[2].steps, plan.phases[3].steps, plan.phases[3].episodes) == (44, 15, 360)


def test_smaller_batches(tmp_path: Path) -> None:
    flags = ("--sft-batch-size", "2", "--sft-gradient-accumulation-steps", "8", "--rl-batch-size", "16")
    plan = plan_of(tmp_path, *flags)
    assert plan.phases[2].what.startswith("16 pairs a step")
    assert "2 tasks × 8 episodes a step" in plan.phases[3].what
    assert plan.phases[3].episodes == plan.config.rl.steps * 16


def test_no_docker(tmp_path: Path) -> None:
    assert plan_of(tmp_path, "--no-docker-sandbox").config.judge.sandbox == "no_docker"


@pytest.mark.parametrize("command", [(SCRIPT, "--num-gpus", "8"), ("-m", "coding_framework.cli.main")])
def test_eight_gpus_that_are_not_there(command: tuple[str, ...], tmp_path: Path) -> None:
    flags = () if command[0] == SCRIPT else ("train", "--config", "eight_gpus")
    answer = run(tmp_path, *command, *flags, "--plan")
    assert answer.returncode == 3
    named = "--num-gpus" if command[0] == SCRIPT else "rl.num_gpus"
    assert f"{named} is 8, but this machine has no GPU" in answer.stderr
    assert "--config quick or --config cpu trains without one" in answer.stderr
    assert "vllm" not in answer.stderr, "what no machine without a GPU needs"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("bench", ["train", "sft"])
def test_a_benchmark_of_cards_that_are_not_there(bench: str, tmp_path: Path) -> None:
    answer = run(tmp_path, "-m", "coding_framework.cli.main", "bench", bench, "--config", "one_gpu")
    assert answer.returncode == 3
    assert "rl.num_gpus is 1, but this machine has no GPU" in answer.stderr


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--skip-sft", "--skip-rl"), "nothing would be trained"),
        (("--skip-rl", "--rl-batch-size", "8"), "--rl-batch-size would have no effect beside --skip-rl"),
        (("--skip-sft", "--sft-batch-size", "2"), "--sft-batch-size would have no effect beside --skip-sft"),
        (("--rl-batch-size", "12"), "give a multiple of 8"),
        (("--quick-test", "--config", "cpu"), "--quick-test and --config both name a preset: give one"),
    ],
)
def test_flags_that_contradict_each_other(flags: tuple[str, ...], words: str, tmp_path: Path) -> None:
    answer = run(tmp_path, SCRIPT, *flags, "--plan")
    assert answer.returncode == 2
    assert words in answer.stderr
    assert not list(tmp_path.iterdir())
