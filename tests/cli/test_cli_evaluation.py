"""`cuda-rl evaluate` and `cuda-rl compare` as a user meets them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from evaluation_support import failed, passed, task, write

NOT_A_MODEL = "models/of/nobody"
"""Naming it would be complained about as soon as a model is looked for."""


def cuda_rl(*arguments: str, cwd: Path, columns: int = 80) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "coding_framework.cli.main", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=cwd,
        env={**os.environ, "COLUMNS": str(columns)},
    )


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("--suite", "modules", "--set", "judge.executor=emulator"), 3, "1 of 1 problems in modules"),
        (("--skip-broken",), 2, "--skip-broken is about the files of --suite"),
        (("--samples", "4", "--k", "8"), 2, "pass@8 needs 8 samples"),
        ((), 2, NOT_A_MODEL),
    ],
)
def test_what_cannot_be_asked_is_refused_before_a_model_is_looked_for(
    tmp_path: Path, arguments: tuple[str, ...], code: int, words: str
) -> None:
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "relu.py").write_text("class Model: ...\n")
    answer = cuda_rl("evaluate", NOT_A_MODEL, *arguments, cwd=tmp_path)
    assert (answer.returncode, words in answer.stderr) == (code, True), answer.stderr
    assert answer.stdout == ""
    assert not (tmp_path / "evaluations").exists()


def test_a_run_is_compared_in_the_terminal_and_on_a_page(tmp_path: Path) -> None:
    tasks = [task(f"task{number}") for number in range(6)]
    for label, good in (("base", 0), ("sft", 2), ("rl", 4)):
        outcomes = {one: [[passed(1.2)]] * good + [[failed()]] * (4 - good) for one in tasks}
        write(tmp_path / "run" / "evaluation" / label, outcomes, label)
    answer = cuda_rl("compare", "run", cwd=tmp_path)
    assert answer.returncode == 0, answer.stderr
    lines = answer.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    row = next(line for line in lines if "pass@1" in line and "+50" in line)
    assert row.split()[1:9:2] == ["pass@1", "0%", "50%", "+50"]
    assert "base → sft" in (tmp_path / "comparison.html").read_text()
    (tmp_path / "comparison.html").unlink()
    record = json.loads(cuda_rl("compare", "run", "--json", cwd=tmp_path).stdout)
    assert [pair["after"] for pair in record["pairs"]] == ["sft", "rl", "rl"]
    assert not (tmp_path / "comparison.html").exists(), "a page only where one is asked for"


def test_one_evaluation_is_not_compared(tmp_path: Path) -> None:
    write(tmp_path / "one", {task("a"): [[passed()]]})
    answer = cuda_rl("compare", "one", cwd=tmp_path)
    assert answer.returncode == 2
    assert "needs two finished evaluations" in answer.stderr
