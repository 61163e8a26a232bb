"""`cuda-rl` as a user meets it: real processes, real files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from coding_framework.data.tasks import get_task

CANDIDATES = Path(__file__).parents[1] / "cuda" / "candidates"
TIMEOUT_S = 120


def cuda_rl(*arguments: str, stdin: str = "", cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "coding_framework.cli.main", *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        cwd=cwd,
    )


def test_judge_prints_one_record_on_standard_output() -> None:
    answer = cuda_rl("judge", str(CANDIDATES / "right.cu"), "--task", "vector_add", "--json")
    assert answer.returncode == 0, answer.stderr
    assert json.loads(answer.stdout)["verdict"] == "passed"
    assert json.loads(answer.stdout)["timing"]["kind"] == "modelled"


def test_judge_tells_a_person_the_verdict_the_line_and_the_words() -> None:
    answer = cuda_rl("judge", str(CANDIDATES / "out_of_bounds.cu"), "--task", "vector_add")
    assert answer.returncode == 10
    assert "OUT OF BOUNDS" in answer.stdout
    assert "y[i] = a[i] + b[i];" in answer.stdout


@pytest.mark.parametrize("before", ["", "\ufeff"])
def test_judge_reads_standard_input(before: str) -> None:
    """Also what an editor saved with a byte-order mark and its own ends of lines."""
    source = before + get_task("scale").baseline.replace("\n", "\r\n" if before else "\n")
    answer = cuda_rl("judge", "-", "--task", "scale", stdin=source)
    assert answer.returncode == 0, answer.stderr
    assert "modelled speedup" in answer.stdout


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("judge", "right.cu", "--task", "vector_ad"), "did you mean vector_add"),
        (("judge", "nothing.cu", "--task", "scale"), "nothing.cu cannot be read"),
        (("judge", "empty.cu", "--task", "scale"), "empty.cu is empty"),
        (("judge", "huge.cu", "--task", "scale"), "huge.cu is larger than 200,000 bytes"),
        (("judge", "binary.cu", "--task", "scale"), "binary.cu is not UTF-8 text"),
        (("judge", "pipe.cu", "--task", "scale"), "pipe.cu is no file; `-` reads the standard input"),
        (("judge", "right.cu", "--task", "scale", "--set", "judge.workerz=1"), "did you mean 'workers'"),
        (("tasks", "nothing_like_it"), "there is no task named 'nothing_like_it'"),
        (("train", "--config", "nothing"), "no config file nothing"),
        (("train", "--resume", "nowhere"), "nowhere is not a run folder"),
        (("train", "--resume", ".", "--config", "quick"), "leave out --config"),
        (("train", "--resume", ".", "--set", "rl.steps=1"), ". is not a run folder"),
        (
            ("train", "--set", 'tasks.train=["nothing"]', "--set", "run.output_dir=out"),
            "no task named 'nothing'",
        ),
        (("evaluate", "no/such/model"), "no/such/model"),
        (("report", "nowhere"), "nowhere is not a run folder"),
    ],
)
def test_bad_input_gets_one_clear_message_and_an_exit_code(
    arguments: tuple[str, ...], complaint: str, tmp_path: Path
) -> None:
    (tmp_path / "right.cu").write_text(get_task("vector_add").baseline)
    (tmp_path / "empty.cu").write_text(" \n")
    (tmp_path / "huge.cu").write_text("x" * 300_000)
    (tmp_path / "binary.cu").write_bytes(b"\xff\xfe\x00")
    os.mkfifo(tmp_path / "pipe.cu")
    answer = cuda_rl(*arguments, cwd=tmp_path)
    assert answer.returncode == 2, (answer.returncode, answer.stderr)
    assert complaint in answer.stderr.replace("\n", " ")
    assert "Traceback" not in answer.stderr
    assert answer.stdout == ""


def test_tasks_lists_and_shows() -> None:
    listed = json.loads(cuda_rl("tasks", "--json").stdout)
    assert len(listed["tasks"]) >= 12
    assert json.loads(cuda_rl("tasks", "matmul", "--json").stdout)["name"] == "matmul"
    assert "row_sum" in cuda_rl("tasks").stdout
    shown = cuda_rl("tasks", "matmul").stdout
    assert "__global__" in shown
    assert "Runs of the judge" in shown


def test_doctor_says_what_is_here_and_what_is_missing() -> None:
    items = {item["name"]: item for item in json.loads(cuda_rl("doctor", "--json").stdout)["items"]}
    assert items["NVRTC"]["present"] is True
    assert items["NVIDIA GPU"]["gives"]
    assert "NVRTC" in cuda_rl("doctor").stdout


def test_models_lists_the_embedded_ones() -> None:
    names = {model["name"] for model in json.loads(cuda_rl("models", "list", "--json").stdout)["models"]}
    assert "smollm2-135m-instruct" in names
    assert "smollm2-135m-instruct" in cuda_rl("models", "list").stdout


def test_the_version_is_told() -> None:
    assert cuda_rl("--version").stdout.startswith("cuda-rl 0.")


def test_tasks_lint_says_which_adversary_comes_closest() -> None:
    answer = cuda_rl("tasks", "lint", "scale", "row_sum", "--json")
    assert answer.returncode == 0, answer.stderr
    assert [task["defects"] for task in json.loads(answer.stdout)["tasks"]] == [[], []]
    assert "closest" in cuda_rl("tasks", "lint", "scale", "--executor", "auto").stdout


def test_json_may_stand_before_the_name_of_a_task() -> None:
    assert json.loads(cuda_rl("tasks", "--json", "matmul").stdout)["name"] == "matmul"
    assert json.loads(cuda_rl("tasks", "show", "matmul", "--json").stdout)["name"] == "matmul"
