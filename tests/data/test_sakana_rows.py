"""Rows of the archive: what is sound comes out, what is not is counted with its reason and place."""

from __future__ import annotations

import json
import math
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from archive_support import (
    PROFILE,
    REAL_ROWS,
    SCALE_MODULE,
    TIDY,
    archive_row,
    failed_row,
    load_archive,
    only_problem,
    without,
    write_lines,
    wrong_row,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from coding_framework.data.archives.literals import parse_literal
from coding_framework.data.archives.problems import RowError
from coding_framework.data.archives.rows import ArchiveExample
from coding_framework.data.sakana_loader import SakanaDataLoader
from coding_framework.records import KernelTiming

real_rows = pytest.mark.skipif(not REAL_ROWS.exists(), reason=f"{REAL_ROWS} is not here")


@real_rows
def test_the_real_rows_load_with_the_right_counts() -> None:
    rows, report = load_archive(REAL_ROWS)
    assert Counter(row.outcome for row in rows) == {"correct": 78, "wrong": 13, "failed": 11}
    assert Counter(row.level for row in rows) == {1: 34, 2: 34, 3: 34}
    assert report.rows_read == report.rows_kept == 102
    assert report.num_problems == 0


@real_rows
def test_a_real_row_keeps_times_metrics_and_remarks() -> None:
    row = load_archive(REAL_ROWS)[0][0]
    assert row.op_name == "1_Square_matrix_multiplication_"
    assert row.timing.archive_cuda_ms == 1.901
    assert row.timing.archive_speedup == pytest.approx(0.42108720541000366 / 1.901)
    assert row.profile is not None
    assert len(row.profile.metrics) == 27
    occupancy = row.profile.metric("Achieved Occupancy")
    assert occupancy is not None
    assert occupancy.average == pytest.approx(98.366)
    assert row.tidy is not None
    assert row.tidy.findings[0].line == 9
    assert row.tidy.findings[0].check == "bugprone-macro-parentheses"


@real_rows
def test_real_problems_get_hidden_shapes_smaller_and_larger_than_the_visible_one() -> None:
    examples = SakanaDataLoader(REAL_ROWS, seed=None).examples()
    tasks = {example.task.name: example.task for example in examples}
    product = tasks["sakana_level1_1_Square_matrix_multiplication"]
    sizes = [choice["N"] for choice in product.hidden_constants]
    assert min(sizes) == 1
    assert any(1 < size < 2048 and size % 2 for size in sizes)
    assert 2048 < max(sizes) <= 2048 * 1.1
    assert all(task.hidden_constants for task in tasks.values())


@real_rows
def test_a_corrupted_copy_of_the_real_rows_loads_what_is_sound(tmp_path: Path) -> None:
    lines = REAL_ROWS.read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    rows[3]["Correct"] = "True"
    del rows[10]["CUDA_Code"]
    rows[20]["NCU_Profile"] = rows[20]["NCU_Profile"][:-40]
    rows[30]["Clang_Tidy"] = "__import__('os').system('true')"
    damaged = [json.dumps(row) for row in rows]
    damaged[50] = "not json at all"
    damaged[101] = damaged[101][: len(damaged[101]) // 2]  # as a download that broke off leaves it
    path = tmp_path / "damaged.jsonl"
    path.write_text("\n".join(damaged), encoding="utf-8")
    sound, report = load_archive(path)
    assert len(sound) == 96
    assert report.problems_by_kind == {
        "wrong_type": 1,
        "missing_column": 1,
        "invalid_literal": 2,
        "broken_json": 2,
    }
    assert {problem.row for problem in report.problems} == {4, 11, 21, 31, 51, 102}


def test_the_three_outcomes_are_told_apart(tmp_path: Path) -> None:
    rows, _ = load_archive(write_lines(tmp_path / "a.jsonl", [archive_row(0), wrong_row(1), failed_row(2)]))
    assert [row.outcome for row in rows] == ["correct", "wrong", "failed"]
    assert [row.timing.archive_cuda_ms for row in rows] == [0.5, None, None]
    assert [row.timing.archive_speedup for row in rows] == [2.0, None, None]
    assert [row.max_diff for row in rows] == [1e-4, 3.5, None]
    assert [row.error for row in rows] == [None, None, "error: expected a ';'"]


def test_the_archives_times_are_not_a_kernel_timing(tmp_path: Path) -> None:
    row = load_archive(write_lines(tmp_path / "a.jsonl", [archive_row()]))[0][0]
    assert not isinstance(row.timing, KernelTiming)
    assert all(name.startswith("archive_") for name in type(row.timing).model_fields)


def test_an_example_is_a_task_and_a_candidate_for_the_judge(tmp_path: Path) -> None:
    loader = SakanaDataLoader(write_lines(tmp_path / "a.jsonl", [archive_row()]))
    example = next(loader.examples())
    assert isinstance(example, ArchiveExample)
    assert example.task.source == SCALE_MODULE
    assert example.task.name == "sakana_level1_7_Scaled_ReLU"
    assert example.candidate.contract == "extension"
    assert example.difficulty == 0


def test_clang_tidys_remarks_come_without_the_path_of_their_authors_machine(tmp_path: Path) -> None:
    row = load_archive(write_lines(tmp_path / "a.jsonl", [archive_row()]))[0][0]
    assert row.tidy is not None
    assert len(row.tidy.findings) == 1
    assert "somewhere" not in row.tidy.model_dump_json()


def test_columns_that_nobody_needs_may_be_missing_or_added(tmp_path: Path) -> None:
    row = {**without(archive_row(), "__index_level_0__"), "Torch_Profile": None, "Something_New": 1}
    rows, report = load_archive(write_lines(tmp_path / "a.jsonl", [row]))
    assert len(rows) == 1
    assert report.num_problems == 0


NAN = math.nan
BAD_ROWS = [
    ("missing_column", "CUDA_Code", without(archive_row(), "CUDA_Code")),
    ("missing_column", "Correct", without(archive_row(), "Correct", "Max_Diff")),
    ("wrong_type", "Correct", archive_row(Correct="True")),
    ("wrong_type", "Correct", archive_row(Correct=1)),
    ("wrong_type", "Correct", archive_row(Correct=None)),
    ("wrong_type", "Level_ID", archive_row(Level_ID="1")),
    ("wrong_type", "Level_ID", archive_row(Level_ID=True)),
    ("wrong_type", "Task_ID", archive_row(Task_ID=1.0)),
    ("wrong_type", "CUDA_Runtime", archive_row(CUDA_Runtime="0.5")),
    ("wrong_type", "CUDA_Code", archive_row(CUDA_Code=7)),
    ("wrong_type", "CUDA_Code", archive_row(CUDA_Code=None)),
    ("wrong_type", "NCU_Profile", archive_row(NCU_Profile=PROFILE)),
    ("wrong_type", "Error", archive_row(Error=[])),
    ("empty_text", "CUDA_Code", archive_row(CUDA_Code="  \n")),
    ("empty_text", "Op_Name", archive_row(Op_Name="")),
    ("oversized", "CUDA_Code", archive_row(CUDA_Code="x" * 200_001)),
    ("oversized", "NCU_Profile", archive_row(NCU_Profile="[" + "1," * 1_500_000 + "]")),
    ("out_of_range", "Level_ID", archive_row(Level_ID=9)),
    ("out_of_range", "Task_ID", archive_row(Task_ID=0)),
    ("out_of_range", "CUDA_Runtime", archive_row(CUDA_Runtime=0.0)),
    ("out_of_range", "CUDA_Runtime", archive_row(CUDA_Runtime=-1.0)),
    ("out_of_range", "CUDA_Runtime", archive_row(CUDA_Runtime=math.inf)),
    ("out_of_range", "PyTorch_Native_Runtime", archive_row(PyTorch_Native_Runtime=10**400)),
    ("out_of_range", "CUDA_Speedup_Native", archive_row(CUDA_Speedup_Native=-0.5)),
    ("not_a_number", "CUDA_Runtime", archive_row(CUDA_Runtime=NAN)),
    ("not_a_number", "PyTorch_Native_Runtime", archive_row(PyTorch_Native_Runtime=NAN)),
    ("not_a_number", "CUDA_Speedup_Compile", archive_row(CUDA_Speedup_Compile=NAN)),
    ("not_a_number", "Max_Diff", archive_row(Max_Diff=NAN)),
    ("invalid_literal", "NCU_Profile", archive_row(NCU_Profile=repr(PROFILE)[:-3])),
    ("invalid_literal", "NCU_Profile", archive_row(NCU_Profile="{'metrics': open('x')}")),
    ("invalid_literal", "NCU_Profile", archive_row(NCU_Profile="{'metrics': {}}")),
    ("invalid_literal", "NCU_Profile", archive_row(NCU_Profile="[1, 2]")),
    ("invalid_literal", "NCU_Profile", archive_row(NCU_Profile="{'metrics': {'a': 1}, 'rules': {}}")),
    ("invalid_literal", "NCU_Profile", archive_row(NCU_Profile="(" * 5000)),
    ("invalid_literal", "Clang_Tidy", archive_row(Clang_Tidy=json.dumps(TIDY))),
    ("invalid_literal", "Clang_Tidy", archive_row(Clang_Tidy="{'stdout': 3, 'errored': False}")),
    ("contradiction", "Correct", archive_row(CUDA_Runtime=None)),
    ("contradiction", "Correct", archive_row(Error="it failed")),
    ("contradiction", "PyTorch_Native_Runtime", archive_row(PyTorch_Native_Runtime=None)),
    ("contradiction", "CUDA_Runtime", wrong_row(CUDA_Runtime=0.5)),
    ("contradiction", "Correct", wrong_row(Max_Diff=None)),
    ("broken_module", "PyTorch_Code_Module", archive_row(PyTorch_Code_Module="def get_inputs(:")),
    ("broken_module", "PyTorch_Code_Module", archive_row(PyTorch_Code_Module="x = 1")),
]


@pytest.mark.parametrize(("kind", "column", "row"), BAD_ROWS)
def test_a_bad_row_is_reported_with_its_kind_column_and_line_and_the_others_load(
    tmp_path: Path, kind: str, column: str, row: dict[str, Any]
) -> None:
    rows, report = load_archive(write_lines(tmp_path / "a.jsonl", [archive_row(1), row, archive_row(2)]))
    assert [sound.kernel_name for sound in rows] == ["scaled_relu_1", "scaled_relu_2"]
    problem = only_problem(report)
    assert (problem.kind, problem.column, problem.row) == (kind, column, 2)
    assert problem.file == str(tmp_path / "a.jsonl")
    assert problem.words
    assert report.rows_read == 3
    assert report.rows_bad == 1


def test_nan_stands_for_nothing_where_nothing_is_allowed(tmp_path: Path) -> None:
    rows, report = load_archive(
        write_lines(
            tmp_path / "a.jsonl",
            [
                failed_row(1, CUDA_Runtime=NAN, Max_Diff=NAN, CUDA_Speedup_Native=NAN),
                wrong_row(2, Max_Diff=NAN),
            ],
        )
    )
    assert report.num_problems == 0
    assert [row.outcome for row in rows] == ["failed", "wrong"]
    assert [row.max_diff for row in rows] == [None, None]


def test_a_metric_that_is_not_a_number_stays_without_a_value(tmp_path: Path) -> None:
    text = "{'metrics': {'A': {'unit': '', 'avg_value': nan, 'variance': inf, 'n': 5}}, 'rules': {}}"
    row = load_archive(write_lines(tmp_path / "a.jsonl", [archive_row(NCU_Profile=text)]))[0][0]
    assert row.profile is not None
    assert [metric.average for metric in row.profile.metrics] == [None]


literals = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    max_leaves=12,
)


@given(literals)
def test_a_literal_is_read_back_as_what_it_was(value: object) -> None:
    assert parse_literal(repr(value), "column") == value


@given(st.text(max_size=60))
def test_text_that_is_no_literal_raises_a_row_error_and_nothing_else(text: str) -> None:
    with suppress(RowError):
        parse_literal(text, "column")


@settings(max_examples=60)
@given(data=st.data())
def test_whatever_is_damaged_every_row_is_counted_and_nothing_is_raised(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    content = bytearray("\n".join(json.dumps(archive_row(n)) for n in range(3)).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content) - 1))
        content[place] = data.draw(st.integers(0, 255))
    del content[data.draw(st.integers(0, len(content))) :]
    path = tmp_path_factory.mktemp("damaged") / "a.jsonl"
    path.write_bytes(content)
    rows, report = load_archive(path)
    assert len(rows) + report.rows_bad + report.rows_repeated == report.rows_read
