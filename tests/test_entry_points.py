"""The two scripts at the root: thin, and with the promised flags."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from coding_framework.cli import launch
from coding_framework.cli.failures import carried_out
from coding_framework.cli.system_check import CHECKS, check_system
from coding_framework.config import FrameworkConfig, load_config
from coding_framework.errors import (
    ConfigError,
    NotAvailableError,
    TrainingError,
    TrainingInterrupted,
    UserError,
)

ROOT = Path(__file__).parents[1]


def resolve(*arguments: str) -> FrameworkConfig:
    return launch.resolve(launch.parse_arguments(list(arguments)))


def test_the_quick_test_is_the_quick_preset() -> None:
    assert resolve("--quick-test") == load_config("quick")
    assert resolve() == load_config()


def test_every_flag_changes_what_it_says() -> None:
    config = resolve(
        "--quick-test",
        "--num-gpus=2",
        "--sft-examples=30",
        "--sft-batch-size=3",
        "--sft-gradient-accumulation-steps=5",
        "--num-episodes=100",
        "--rl-batch-size=12",
        "--no-docker-sandbox",
    )
    assert (config.rl.num_gpus, config.sft.pairs, config.sft.batch_size) == (2, 30, 3)
    assert config.sft.gradient_accumulation_steps == 5
    assert config.rl.prompts_per_step * config.rl.group_size == 12
    assert config.rl.steps == 9, "100 episodes in steps of 12"
    assert resolve("--skip-sft").sft.enabled is False
    assert resolve("--skip-rl").rl.enabled is False


def test_eight_gpus_are_the_allocation_of_their_preset() -> None:
    assert resolve("--num-gpus=8") == load_config("eight_gpus")
    assert resolve("--num-gpus=8", "--quick-test") == load_config("quick", ["rl.num_gpus=8"])


def test_nonsense_is_refused_before_anything_starts() -> None:
    with pytest.raises(ConfigError, match=r"sft\.pairs"):
        resolve("--sft-examples=0")
    with pytest.raises(ConfigError, match="--num-episodes is -3: give 1 or more"):
        resolve("--num-episodes=-3")


def test_pairs_that_are_asked_for_are_passed_over_twice_at_most() -> None:
    few = resolve("--quick-test", "--sft-examples=30")
    assert (few.sft.steps, few.sft.epochs) == (None, 2)
    assert resolve("--quick-test", "--sft-examples=300").sft.steps == 44


def test_a_flag_of_zero_beside_resume_is_refused_like_any_other(capsys: pytest.CaptureFixture[str]) -> None:
    assert launch.main(["--resume", "nowhere", "--num-gpus", "0"]) == 2
    assert "--num-gpus would have no effect beside --resume" in capsys.readouterr().err


def test_two_presets_are_refused_instead_of_taking_the_last() -> None:
    with pytest.raises(UserError, match=r"--config is given 2 times \(quick, cpu\): give one"):
        resolve("--config=quick", "--config=cpu")
    assert resolve("--config=cpu") == load_config("cpu")


def test_a_complaint_names_the_flag_that_was_given(capsys: pytest.CaptureFixture[str]) -> None:
    assert launch.main(["--quick-test", "--sft-examples", "0", "--plan"]) == 2
    assert "--sft-examples must be at least 1 (got 0)" in capsys.readouterr().err


def test_how_to_go_on_is_said_by_both_doors(capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> None:
        error = TrainingError("it broke")
        error.add_note("continue with  cuda-rl train --resume RUN")
        raise error

    assert carried_out(fail) == 6
    assert capsys.readouterr().err == "error: it broke\ncontinue with  cuda-rl train --resume RUN\n"


def test_being_stopped_is_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    def stop() -> None:
        raise TrainingInterrupted("stopped; what was finished is kept")

    def interrupt() -> None:
        raise KeyboardInterrupt

    assert carried_out(stop) == 130
    assert carried_out(interrupt) == 130
    assert capsys.readouterr().err == "stopped; what was finished is kept\ninterrupted\n"


def test_an_output_that_is_full_is_one_line_and_an_exit_code(tmp_path: Path) -> None:
    script = ROOT / "launch_complete_cuda_training.py"
    with Path("/dev/full").open("w") as full:
        answer = subprocess.run(
            [sys.executable, str(script), "--quick-test", "--plan"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
        )
    assert answer.returncode == 5
    assert answer.stderr == "error: the output cannot be written: No space left on device\n"


def test_the_launch_script_reports_bad_input_with_an_exit_code(tmp_path: Path) -> None:
    script = ROOT / "launch_complete_cuda_training.py"
    answer = subprocess.run(
        [sys.executable, str(script), "--resume", "nowhere"], capture_output=True, text=True, cwd=tmp_path
    )
    assert answer.returncode == 2
    assert "nowhere is not a run folder" in answer.stderr


def test_the_system_check_tells_passed_failed_and_not_available_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing() -> str:
        raise NotAvailableError("there is none")

    def broken() -> str:
        raise RuntimeError("it broke")

    monkeypatch.setattr(
        "coding_framework.cli.system_check.CHECKS", {"a": lambda: "seen", "b": missing, "c": broken}
    )
    seen: list[str] = []
    report = check_system(lambda result: seen.append(result.component))
    assert [r.status for r in report.results] == ["passed", "not available", "failed"]
    assert report.summary == "1 passed, 1 failed, 1 not available here"
    assert seen == ["a", "b", "c"]


@pytest.mark.parametrize(
    "component",
    [
        "compiler (NVRTC)",
        "judge and emulator",
        "worker processes",
        "benchmarker",
        "conversation and reward",
        "run folder and report",
    ],
)
def test_a_component_of_the_core_passes_its_check(component: str) -> None:
    assert CHECKS[component]()
