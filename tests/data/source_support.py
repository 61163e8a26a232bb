"""Sources written for the tests, one of each kind."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from archive_support import REAL_ROWS, archive_row, problem, write_lines, wrong_row
from kernelbench_sources import SOURCES

EXAMPLES = Path(__file__).parents[2] / "examples"
OWN = "own_tasks:tasks"
"""To be found where the working folder is `OWN_FOLDER`."""
OWN_FOLDER = EXAMPLES / "tasks"
SAXPY = EXAMPLES / "problems" / "saxpy_clamp.cu"


def function(forward: str, arguments: str = "x", inputs: str = "torch.rand(rows, cols)") -> str:
    """A module of one expression."""
    model = f"class Model(nn.Module):\n    def forward(self, {arguments}):\n        return {forward}\n"
    return problem(model, "rows = 48\ncols = 64", inputs)


def checkout(folder: Path, sources: dict[str, str] = SOURCES, level: int = 1) -> Path:
    """A checkout of KernelBench."""
    for number, (name, source) in enumerate(sources.items(), start=1):
        file = folder / "KernelBench" / f"level{level}" / f"{number}_{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(source)
    return folder


def archive(path: Path, rows: Iterable[dict[str, object]] | None = None) -> Path:
    """Three right kernels of one problem, the slowest first, and a wrong one."""
    rows = rows or [archive_row(3), archive_row(2), archive_row(1), wrong_row(4)]
    return write_lines(path, [row | {"CUDA_Code": kernel(row)} for row in rows])


def kernel(row: dict[str, object]) -> str:
    """Another code for each number, not another remark alone."""
    number = str(row["Kernel_Name"])[-1]
    return str(row["CUDA_Code"]).replace("PYBIND", f"int launches = {number};\nPYBIND")


def every_kind(folder: Path) -> dict[str, str]:
    """By kind, as `tasks.sources` would name it."""
    named = {
        "catalogue": "catalogue",
        "kernelbench checkout": str(checkout(folder / "checkout")),
        "archive file": str(archive(folder / "archive.jsonl")),
        "problem": str(SAXPY),
        "own code": OWN,
    }
    return named | ({"real archive": str(REAL_ROWS)} if REAL_ROWS.exists() else {})
