"""Rows and problems for the tests of the archive loaders, written for them; nothing here is of an archive."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from coding_framework.data.archives.problems import LoadReport, RowProblem
from coding_framework.data.archives.rows import ArchiveRow
from coding_framework.data.sakana_loader import SakanaDataLoader

REAL_ROWS = Path(__file__).parents[3] / "shared" / "data" / "sakana_subset.jsonl"
"""Rows of the AI CUDA Engineer archive; not part of the project, read where it lies beside it."""

SCALE_MODULE = """
import torch
from torch import nn

class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x) * 2.5

ROWS, COLUMNS = 64, 2048

def get_inputs():
    return [torch.randn(ROWS, COLUMNS)]

def get_init_inputs():
    return []
"""
PROFILE = {
    "metrics": {
        "Achieved Occupancy": {"unit": "%", "avg_value": 71.5, "variance": 0.25, "n": 5},
        "L2 Hit Rate": {"unit": "%", "avg_value": 12, "variance": 0.0, "n": 5},
    },
    "rules": {"Occupancy": {"type": "INF", "description": "not limited"}},
}
TIDY = {
    "stdout": "/somewhere/base.cu:7:3: warning: use braces [readability-braces]\n    7 |   if (x)\n",
    "stderr": "",
    "errored": False,
}


def archive_row(number: int = 0, **changes: Any) -> dict[str, Any]:
    """A correct row; every number gives another kernel."""
    row = {
        "Op_Name": "7_Scaled_ReLU",
        "Level_ID": 1,
        "Task_ID": 7,
        "Kernel_Name": f"scaled_relu_{number}",
        "CUDA_Runtime": 0.5 + number,
        "PyTorch_Native_Runtime": 1.0,
        "PyTorch_Compile_Runtime": 0.75,
        "CUDA_Speedup_Native": 1.0 / (0.5 + number),
        "CUDA_Speedup_Compile": 0.75 / (0.5 + number),
        "CUDA_Code": f"#include <torch/extension.h>\n// kernel {number}\nPYBIND11_MODULE(NAME, m) {{}}",
        "PyTorch_Code_Module": SCALE_MODULE,
        "Correct": True,
        "Max_Diff": 1e-4,
        "Error": None,
        "NCU_Profile": repr(PROFILE),
        "Clang_Tidy": repr(TIDY),
        "__index_level_0__": number,
    }
    return {**row, **changes}


def wrong_row(number: int = 0, **changes: Any) -> dict[str, Any]:
    """A kernel that ran with other numbers."""
    blank = {"CUDA_Runtime": None, "NCU_Profile": None, "Clang_Tidy": None}
    zeros = {"CUDA_Speedup_Native": 0.0, "CUDA_Speedup_Compile": 0.0}
    return archive_row(number, **{**blank, **zeros, "Correct": False, "Max_Diff": 3.5, **changes})


def failed_row(number: int = 0, **changes: Any) -> dict[str, Any]:
    """A kernel that did not compile."""
    return wrong_row(number, **{"Max_Diff": None, "Error": "error: expected a ';'", **changes})


def without(row: dict[str, Any], *columns: str) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in columns}


def load_archive(path: Path, **options: Any) -> tuple[list[ArchiveRow], LoadReport]:
    """All rows in the order of the files, and what was said of the others."""
    stream = SakanaDataLoader(path, **{"seed": None, **options}).rows()
    rows = list(stream)
    return rows, stream.report


def kernel_names(loader: SakanaDataLoader, **options: int) -> list[str]:
    return [row.kernel_name for row in loader.rows(**options)]


def only_problem(report: LoadReport) -> RowProblem:
    assert len(report.problems) == 1
    return report.problems[0]


def write_lines(path: Path, rows: Iterable[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def write_table(path: Path, rows: list[dict[str, Any]], rows_a_group: int | None = None) -> Path:
    import pyarrow
    from pyarrow import parquet

    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(
        pyarrow.Table.from_pylist(rows), path, row_group_size=rows_a_group, compression="none"
    )
    return path


def problem(model: str, constants: str, inputs: str, init: str = "") -> str:
    """A source in KernelBench's form."""
    head = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n\n"
    functions = f"\ndef get_inputs():\n    return [{inputs}]\n\ndef get_init_inputs():\n    return [{init}]\n"
    return head + model.strip("\n") + "\n\n" + constants.strip("\n") + "\n" + functions
