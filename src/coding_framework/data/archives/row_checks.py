"""From an untyped row of the AI CUDA Engineer archive to an `ArchiveRow`, or to the reason why not.

Guarantees: a row comes out only if every column has the right type, a sensible value and does not
contradict the others. NaN stands for "none" where a column may be empty (that is how pandas writes
it) and is refused elsewhere. Not checked: whether the kernel really is what the archive says of it.
"""

from __future__ import annotations

from coding_framework.data.archives.columns import Columns
from coding_framework.data.archives.difficulty import difficulty_of
from coding_framework.data.archives.module_source import check_module_source
from coding_framework.data.archives.problems import RowError
from coding_framework.data.archives.profiles import parse_profile, parse_tidy
from coding_framework.data.archives.reading import RawRow
from coding_framework.data.archives.rows import ArchiveOutcome, ArchiveRow, ArchiveTiming, Level

REQUIRED_COLUMNS = (
    "Op_Name",
    "Level_ID",
    "Task_ID",
    "Kernel_Name",
    "CUDA_Runtime",
    "PyTorch_Native_Runtime",
    "PyTorch_Compile_Runtime",
    "CUDA_Speedup_Native",
    "CUDA_Speedup_Compile",
    "CUDA_Code",
    "PyTorch_Code_Module",
    "Correct",
    "Max_Diff",
    "Error",
    "NCU_Profile",
    "Clang_Tidy",
)
"""What is used. `PyTorch_Code_Functional`, `Torch_Profile` and `__index_level_0__` may be missing."""
_MAX_TEXT_BYTES = 4_000_000
_LEVELS: dict[int, Level] = {1: 1, 2: 2, 3: 3, 4: 4}


def check_row(raw: RawRow) -> ArchiveRow:
    """The row as a record; raises `RowError`."""
    columns = Columns(raw.columns, REQUIRED_COLUMNS)
    op_name, module_source = columns.text("Op_Name"), columns.text("PyTorch_Code_Module")
    level = _LEVELS[columns.integer("Level_ID", 1, 4)]
    error = columns.optional_text("Error", _MAX_TEXT_BYTES)
    outcome = _outcome(columns, error)
    check_module_source(module_source, "PyTorch_Code_Module")
    profile = columns.optional_text("NCU_Profile", _MAX_TEXT_BYTES)
    tidy = columns.optional_text("Clang_Tidy", _MAX_TEXT_BYTES)
    return ArchiveRow(
        op_name=op_name,
        level=level,
        task_id=columns.integer("Task_ID", 1, 10_000),
        kernel_name=columns.text("Kernel_Name"),
        source=columns.text("CUDA_Code"),
        module_source=module_source,
        outcome=outcome,
        timing=_timing(columns, outcome),
        max_diff=_max_diff(columns, outcome),
        error=error,
        profile=parse_profile(profile, "NCU_Profile") if profile is not None else None,
        tidy=parse_tidy(tidy, "Clang_Tidy") if tidy is not None else None,
        difficulty=difficulty_of(op_name, module_source, level),
    )


def _outcome(columns: Columns, error: str | None) -> ArchiveOutcome:
    """Correct has a time; wrong has a difference and no error; failed has an error and no difference."""
    timed = not columns.is_nan("CUDA_Runtime") and columns.number("CUDA_Runtime", above_zero=True) is not None
    differs = columns.is_nan("Max_Diff") or columns.number("Max_Diff", finite=False) is not None
    if columns.flag("Correct"):
        if columns.is_nan("CUDA_Runtime"):
            raise RowError("not_a_number", "the time of a correct kernel is NaN", "CUDA_Runtime")
        if not timed or error is not None:
            raise RowError("contradiction", "called correct, but without a time or with an error", "Correct")
        return "correct"
    if timed:
        raise RowError("contradiction", "not correct, but with a time of its own", "CUDA_Runtime")
    if error is None and not differs:
        raise RowError("contradiction", "neither correct nor with a difference or an error", "Correct")
    return "wrong" if error is None else "failed"


def _max_diff(columns: Columns, outcome: ArchiveOutcome) -> float | None:
    """Of a wrong kernel it may be infinite or NaN, for its output was; NaN becomes None."""
    if outcome != "correct" and columns.is_nan("Max_Diff"):
        return None
    return columns.number("Max_Diff", finite=outcome == "correct")


def _timing(columns: Columns, outcome: ArchiveOutcome) -> ArchiveTiming:
    """Speedups of kernels that are not correct are written as 0 there: they are no speedups."""
    correct = outcome == "correct"
    if correct and columns.number("PyTorch_Native_Runtime", above_zero=True) is None:
        raise RowError("contradiction", "correct, but eager PyTorch has no time", "PyTorch_Native_Runtime")
    return ArchiveTiming(
        archive_cuda_ms=columns.number("CUDA_Runtime", above_zero=True) if correct else None,
        archive_torch_ms=columns.number("PyTorch_Native_Runtime", above_zero=True),
        archive_torch_compile_ms=columns.number("PyTorch_Compile_Runtime", above_zero=True),
        archive_speedup=columns.number("CUDA_Speedup_Native") if correct else None,
        archive_compile_speedup=columns.number("CUDA_Speedup_Compile") if correct else None,
    )
