"""`cuda-rl data show` as a user meets it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

TIMEOUT_S = 60
SOURCE = """
import torch
from torch import nn

class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x)

n = 4096

def get_inputs():
    return [torch.rand(n)]

def get_init_inputs():
    return []
"""
ROW = {
    "Op_Name": "19_ReLU",
    "Level_ID": 1,
    "Task_ID": 19,
    "Kernel_Name": "relu",
    "CUDA_Runtime": 0.5,
    "PyTorch_Native_Runtime": 1.0,
    "PyTorch_Compile_Runtime": 0.75,
    "CUDA_Speedup_Native": 2.0,
    "CUDA_Speedup_Compile": 1.5,
    "CUDA_Code": "// one",
    "PyTorch_Code_Module": SOURCE,
    "Correct": True,
    "Max_Diff": 0.0,
    "Error": None,
    "NCU_Profile": None,
    "Clang_Tidy": None,
}


def show(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "coding_framework.cli.main", "data", "show", *arguments],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        env={**os.environ, "COLUMNS": "140", **environment},
    )


def archive(path: Path) -> Path:
    wrong = {"Correct": False, "CUDA_Runtime": None, "Max_Diff": 2.0, "CUDA_Code": "// two"}
    rows = [ROW, {**ROW, **wrong}, {**ROW, "CUDA_Code": 3}, {"nothing": 1}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows) + "{", encoding="utf-8")
    return path


def test_an_archive_is_counted_with_its_problems(tmp_path: Path) -> None:
    answer = show(str(archive(tmp_path / "a.jsonl")), "--json")
    assert answer.returncode == 0, answer.stderr
    summary = json.loads(answer.stdout)
    assert summary["kind"] == "sakana"
    assert summary["outcomes"] == {"correct": 1, "wrong": 1}
    assert summary["tiers"] == [{"difficulty": 0, "outcomes": {"correct": 1, "wrong": 1}}]
    assert summary["tasks_with_hidden_shapes"] == summary["tasks"] == 1
    assert summary["report"]["problems_by_kind"] == {"wrong_type": 1, "missing_column": 1, "broken_json": 1}
    assert summary["report"]["rows_read"] == 5


def test_a_person_sees_counts_tiers_and_the_first_place_of_every_problem(tmp_path: Path) -> None:
    answer = show(str(archive(tmp_path / "a.jsonl")))
    assert answer.returncode == 0, answer.stderr
    assert "5 rows read, 2 used" in answer.stdout
    assert "as the archive states them" in answer.stdout
    text = "".join(answer.stdout.split())
    for word in ("wrong_type", "missing_column", "broken_json", "a.jsonl:3CUDA_Code"):
        assert word in text


def test_a_folder_of_problems_and_a_single_one_are_recognised(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(SOURCE)
    (tmp_path / "b.py").write_text("x = 1")
    for source, bad in ((tmp_path, 1), (tmp_path / "a.py", 0)):
        summary = json.loads(show(str(source), "--json").stdout)
        assert summary["kind"] == "kernelbench"
        assert summary["outcomes"] == {"problem": 1}
        assert summary["levels"] == {"none": 1}
        assert summary["report"]["rows_bad"] == bad


def test_tables_of_problems_are_told_by_their_columns(tmp_path: Path) -> None:
    row = {"code": SOURCE, "level": 1, "name": "19_ReLU", "problem_id": 19}
    (tmp_path / "a.jsonl").write_text(json.dumps(row))
    summary = json.loads(show(str(tmp_path), "--json").stdout)
    assert (summary["kind"], summary["levels"]) == ("kernelbench", {"1": 1})


def test_what_cannot_be_reached_and_what_is_not_there_have_their_own_exit_codes(tmp_path: Path) -> None:
    hub = show("kernelbench", HF_HUB_OFFLINE="1", CODING_FRAMEWORK_CACHE=str(tmp_path))
    assert hub.returncode == 3
    assert "cannot be reached" in hub.stderr
    assert hub.stdout == ""
    path = show(str(tmp_path / "missing.parquet"))
    assert path.returncode == 2
    assert "there is no file or folder" in path.stderr
