"""`SakanaDataLoader`: what is sound comes out, what is not is counted with its reason and place."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
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
    without,
    write_lines,
    write_table,
    wrong_row,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from coding_framework.data.archives.fallback import open_archive_or_catalogue
from coding_framework.data.archives.literals import parse_literal
from coding_framework.data.archives.problems import LoadReport, ProblemLog, RowError, RowProblem
from coding_framework.data.archives.rows import ArchiveExample, ArchiveRow
from coding_framework.data.sakana_loader import ArchiveFilter, SakanaDataLoader
from coding_framework.data.tasks import all_tasks
from coding_framework.errors import DatasetUnreachableError, MissingExtraError, UserError
from coding_framework.records import KernelTiming

real_rows = pytest.mark.skipif(not REAL_ROWS.exists(), reason=f"{REAL_ROWS} is not here")


def load(path: Path, **options: Any) -> tuple[list[ArchiveRow], LoadReport]:
    stream = SakanaDataLoader(path, **{"seed": None, **options}).rows()
    rows = list(stream)
    return rows, stream.report


def only_problem(report: LoadReport) -> RowProblem:
    assert len(report.problems) == 1
    return report.problems[0]


# ---- the real rows -------------------------------------------------------------------------------


@real_rows
def test_the_real_rows_load_with_the_right_counts() -> None:
    rows, report = load(REAL_ROWS)
    assert Counter(row.outcome for row in rows) == {"correct": 78, "wrong": 13, "failed": 11}
    assert Counter(row.level for row in rows) == {1: 34, 2: 34, 3: 34}
    assert report.rows_read == report.rows_kept == 102
    assert report.num_problems == 0


@real_rows
def test_a_real_row_keeps_times_metrics_and_remarks() -> None:
    row = load(REAL_ROWS)[0][0]
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
    sound, report = load(path)
    assert len(sound) == 96
    assert report.problems_by_kind == {
        "wrong_type": 1,
        "missing_column": 1,
        "invalid_literal": 2,
        "broken_json": 2,
    }
    assert {problem.row for problem in report.problems} == {4, 11, 21, 31, 51, 102}


# ---- one row ---------------------------------------------------------------------------------------


def test_the_three_outcomes_are_told_apart(tmp_path: Path) -> None:
    rows, _ = load(write_lines(tmp_path / "a.jsonl", [archive_row(0), wrong_row(1), failed_row(2)]))
    assert [row.outcome for row in rows] == ["correct", "wrong", "failed"]
    assert [row.timing.archive_cuda_ms for row in rows] == [0.5, None, None]
    assert [row.timing.archive_speedup for row in rows] == [2.0, None, None]
    assert [row.max_diff for row in rows] == [1e-4, 3.5, None]
    assert [row.error for row in rows] == [None, None, "error: expected a ';'"]


def test_the_archives_times_are_not_a_kernel_timing(tmp_path: Path) -> None:
    row = load(write_lines(tmp_path / "a.jsonl", [archive_row()]))[0][0]
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
    row = load(write_lines(tmp_path / "a.jsonl", [archive_row()]))[0][0]
    assert row.tidy is not None
    assert len(row.tidy.findings) == 1
    assert "somewhere" not in row.tidy.model_dump_json()


def test_columns_that_nobody_needs_may_be_missing_or_added(tmp_path: Path) -> None:
    row = {**without(archive_row(), "__index_level_0__"), "Torch_Profile": None, "Something_New": 1}
    rows, report = load(write_lines(tmp_path / "a.jsonl", [row]))
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
    rows, report = load(write_lines(tmp_path / "a.jsonl", [archive_row(1), row, archive_row(2)]))
    assert [sound.kernel_name for sound in rows] == ["scaled_relu_1", "scaled_relu_2"]
    problem = only_problem(report)
    assert (problem.kind, problem.column, problem.row) == (kind, column, 2)
    assert problem.file == str(tmp_path / "a.jsonl")
    assert problem.words
    assert report.rows_read == 3
    assert report.rows_bad == 1


def test_nan_stands_for_nothing_where_nothing_is_allowed(tmp_path: Path) -> None:
    rows, report = load(
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
    row = load(write_lines(tmp_path / "a.jsonl", [archive_row(NCU_Profile=text)]))[0][0]
    assert row.profile is not None
    assert [metric.average for metric in row.profile.metrics] == [None]


# ---- files -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (b"{", "broken_json"),
        (b"[1, 2]", "wrong_type"),
        (b"null", "wrong_type"),
        (b'{"a": "\xff\xfe"}', "broken_text"),
        (b"[" * 100_000, "broken_json"),
        (b'{"a": ' + b"9" * 5000 + b"}", "broken_json"),
        (b'"' + b"x" * (17 << 20) + b'"', "oversized"),
    ],
)
def test_a_line_that_is_no_row_costs_that_line_only(tmp_path: Path, line: bytes, kind: str) -> None:
    path = tmp_path / "a.jsonl"
    sound = json.dumps(archive_row(1)).encode()
    path.write_bytes(sound + b"\n" + line + b"\n\n" + json.dumps(archive_row(2)).encode())
    rows, report = load(path)
    assert len(rows) == 2
    assert (only_problem(report).kind, only_problem(report).row) == (kind, 2)


def test_parquet_and_json_lines_give_the_same_rows(tmp_path: Path) -> None:
    content = [archive_row(1), wrong_row(2), failed_row(3), archive_row(4, Level_ID=7)]
    from_lines, lines_report = load(write_lines(tmp_path / "a.jsonl", content))
    from_table, table_report = load(write_table(tmp_path / "a.parquet", content))
    assert from_lines == from_table
    assert lines_report.problems_by_kind == table_report.problems_by_kind == {"out_of_range": 1}
    assert table_report.problems[0].row == 4


def test_a_truncated_parquet_file_is_reported_and_its_neighbours_load(tmp_path: Path) -> None:
    whole = write_table(tmp_path / "b.parquet", [archive_row(1)])
    (tmp_path / "a.parquet").write_bytes(whole.read_bytes()[:-200])
    (tmp_path / "c.parquet").write_bytes(b"")
    rows, report = load(tmp_path)
    assert len(rows) == 1
    assert report.problems_by_kind == {"unreadable_file": 2}
    assert [problem.row for problem in report.problems] == [None, None]
    assert report.rows_bad == 0


def test_a_damaged_row_group_costs_its_own_rows_only(tmp_path: Path) -> None:
    from pyarrow import parquet

    path = write_table(tmp_path / "a.parquet", [archive_row(n) for n in range(30)], rows_a_group=10)
    chunk = parquet.ParquetFile(path).metadata.row_group(1).column(0)
    start = chunk.dictionary_page_offset or chunk.data_page_offset
    content = bytearray(path.read_bytes())
    content[start : start + chunk.total_compressed_size] = b"\xff" * chunk.total_compressed_size
    path.write_bytes(content)
    rows, report = load(path)
    names = {row.kernel_name for row in rows}
    assert names == {f"scaled_relu_{n}" for n in (*range(10), *range(20, 30))}
    assert only_problem(report).kind == "unreadable_file"
    assert only_problem(report).row == 11


def test_wrong_column_types_in_a_table_are_reported_row_by_row(tmp_path: Path) -> None:
    path = write_table(tmp_path / "a.parquet", [archive_row(n, Correct="yes") for n in range(3)])
    rows, report = load(path)
    assert rows == []
    assert report.problems_by_kind == {"wrong_type": 3}


def test_text_that_is_not_utf8_in_a_table_costs_its_row_only(tmp_path: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    table = pyarrow.Table.from_pylist([archive_row(n) for n in range(3)])
    broken = pyarrow.array([b"fine 0", b"\xff\xfe", b"fine 2"], pyarrow.binary()).view(pyarrow.string())
    index = table.column_names.index("Kernel_Name")
    parquet.write_table(table.set_column(index, "Kernel_Name", broken), tmp_path / "a.parquet")
    rows, report = load(tmp_path / "a.parquet")
    assert [row.kernel_name for row in rows] == ["fine 0", "fine 2"]
    assert (only_problem(report).kind, only_problem(report).row) == ("broken_text", 2)


def test_a_folder_is_read_with_its_subfolders_but_not_what_is_hidden(tmp_path: Path) -> None:
    for name in ("one", "two/deep", ".partial"):
        (tmp_path / name).mkdir(parents=True)
    write_lines(tmp_path / "one/a.jsonl", [archive_row(1)])
    write_table(tmp_path / "two/deep/b.parquet", [archive_row(2)])
    write_lines(tmp_path / ".partial/c.jsonl", [archive_row(3)])
    (tmp_path / "README.md").write_text("no table")
    assert [row.kernel_name for row in load(tmp_path)[0]] == ["scaled_relu_1", "scaled_relu_2"]


def test_a_path_that_is_not_there_or_holds_no_table_is_the_users_mistake(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no file or folder"):
        SakanaDataLoader(tmp_path / "missing.parquet")
    with pytest.raises(UserError, match="there is no file or folder"):
        SakanaDataLoader("missing/archive.jsonl")
    with pytest.raises(UserError, match="holds no table"):
        SakanaDataLoader(tmp_path)


def test_only_the_first_problems_are_kept_in_words_but_all_are_counted(tmp_path: Path) -> None:
    rows, report = load(write_lines(tmp_path / "a.jsonl", [{"a": 1}] * 250))
    assert rows == []
    assert report.problems_by_kind == {"missing_column": 250}
    assert len(report.problems) == 100
    assert "250 missing_column" in report.sentence


def test_a_report_that_loses_rows_cannot_be_built() -> None:
    log = ProblemLog("x")
    log.rows_read, log.complete = 3, True
    with pytest.raises(ValueError, match="accounted for"):
        log.report()


READ_IT_ALL = """
import resource, sys
from coding_framework.data.sakana_loader import SakanaDataLoader
import pyarrow.parquet
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
count = sum(1 for _ in SakanaDataLoader(sys.argv[1], seed=None).rows())
print(count, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def test_a_large_parquet_file_is_read_in_bounded_memory(tmp_path: Path) -> None:
    rows = [archive_row(n, CUDA_Code=f"// {n}\n" + os.urandom(50_000).hex()) for n in range(1500)]
    path = write_table(tmp_path / "large.parquet", rows)
    assert path.stat().st_size > 140 << 20
    answer = subprocess.run(
        [sys.executable, "-c", READ_IT_ALL, str(path)],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    count, grown_mib = map(int, answer.stdout.split())
    assert count == 1500
    assert grown_mib < 70


# ---- order -----------------------------------------------------------------------------------------


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    for shard in range(3):
        rows = [
            make(100 * shard + n, Level_ID=shard + 1)
            for n, make in enumerate([archive_row, wrong_row, failed_row] * 4)
        ]
        write_lines(tmp_path / f"{shard}.jsonl", rows)
    return tmp_path


def names(loader: SakanaDataLoader, **options: int) -> list[str]:
    return [row.kernel_name for row in loader.rows(**options)]


def test_the_order_is_fixed_by_seed_and_epoch(archive: Path) -> None:
    loader = SakanaDataLoader(archive, seed=1)
    assert names(loader) == names(loader) == names(SakanaDataLoader(archive, seed=1))
    assert sorted(names(loader)) == sorted(names(SakanaDataLoader(archive, seed=2)))
    orders = [
        names(loader),
        names(loader, epoch=1),
        names(SakanaDataLoader(archive, seed=2)),
        names(SakanaDataLoader(archive, seed=None)),
    ]
    assert len({tuple(order) for order in orders}) == 4


def test_a_pass_goes_on_where_another_stopped(archive: Path) -> None:
    loader = SakanaDataLoader(archive, seed=5)
    whole = [example.digest for example in loader.examples(epoch=2)]
    for stop in range(len(whole) + 1):
        first = loader.examples(epoch=2)
        taken = [next(first).digest for _ in range(stop)]
        rest = [example.digest for example in loader.examples(skip=first.position, epoch=2)]
        assert taken + rest == whole


def test_a_buffer_smaller_than_the_archive_still_hands_out_every_row_once(
    archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from coding_framework.data.archives import order, passes

    monkeypatch.setattr(passes, "mixed", lambda items, random: order.mixed(items, random, buffer_rows=4))
    mixed = names(SakanaDataLoader(archive, seed=3))
    assert sorted(mixed) == sorted(names(SakanaDataLoader(archive, seed=None)))
    assert len(set(mixed)) == len(mixed) == 36


def test_rows_are_chosen_by_level_outcome_and_difficulty(archive: Path) -> None:
    def kept(**wanted: Any) -> tuple[int, int]:
        stream = SakanaDataLoader(archive, wanted=ArchiveFilter(**wanted)).rows()
        return len(list(stream)), stream.report.rows_filtered

    assert kept(levels={1, 2}) == (24, 12)
    assert kept(outcomes={"correct"}) == (12, 24)
    assert kept(levels={3}, outcomes={"failed"}) == (4, 32)
    assert kept(difficulties={0}) == (12, 24)
    assert kept(difficulties={3}) == (12, 24)
    assert kept(difficulties={1}) == (0, 36)


def test_the_same_content_comes_once_unless_it_is_wanted(tmp_path: Path) -> None:
    again = archive_row(1)["CUDA_Code"].replace("\n", "  \n\n")
    rows = [
        archive_row(1),
        archive_row(1, Kernel_Name="other"),
        archive_row(2, CUDA_Code=again),
        archive_row(3),
    ]
    path = write_lines(tmp_path / "a.jsonl", rows)
    kept, report = load(path)
    assert [row.kernel_name for row in kept] == ["scaled_relu_1", "scaled_relu_3"]
    assert report.rows_repeated == 2
    assert len(load(path, deduplicate=False)[0]) == 4


def test_a_report_in_the_middle_says_so(archive: Path) -> None:
    stream = SakanaDataLoader(archive).rows()
    next(stream)
    assert not stream.report.complete
    assert "so far" in stream.report.sentence
    list(stream)
    assert stream.report.complete


# ---- properties --------------------------------------------------------------------------------------

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
    rows, report = load(path)
    assert len(rows) + report.rows_bad + report.rows_repeated == report.rows_read


# ---- the hub -----------------------------------------------------------------------------------------


@pytest.fixture
def data_set(tmp_path: Path) -> Path:
    """A folder as the hub lays data sets out."""
    for level in (1, 2, 3):
        rows = [archive_row(100 * level + n, Level_ID=level) for n in range(70)]
        write_table(tmp_path / "set" / "data" / f"level_{level}-00000-of-00001.parquet", rows)
    return tmp_path / "set"


def streamed(folder: Path, cache: Path, **options: Any) -> SakanaDataLoader:
    return SakanaDataLoader(folder, through_datasets=True, cache_folder=cache, **options)


def test_a_data_set_streamed_through_datasets_gives_the_same_rows_as_its_files(
    data_set: Path, tmp_path: Path
) -> None:
    stream = streamed(data_set, tmp_path / "cache", seed=None).rows()
    assert list(stream) == load(data_set)[0]
    assert stream.report.rows_kept == 210


def test_a_streamed_split_is_kept_and_read_again_without_its_source(data_set: Path, tmp_path: Path) -> None:
    loader = streamed(data_set, tmp_path / "cache", seed=4)
    first = names(loader)
    assert len(list((tmp_path / "cache").rglob("level_*.parquet"))) == 3
    data_set.rename(tmp_path / "gone")
    assert names(loader) == first


def test_a_pass_that_is_given_up_leaves_no_half_split_in_the_cache(data_set: Path, tmp_path: Path) -> None:
    stream = streamed(data_set, tmp_path / "cache", seed=None).rows()
    next(stream)
    del stream
    assert [file for file in (tmp_path / "cache").rglob("*") if file.is_file()] == []


def test_an_archive_of_which_only_a_part_is_cached_counts_as_unreachable(
    data_set: Path, tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    assert len(list(streamed(data_set, cache, splits=("level_1",)).rows())) == 70
    data_set.rename(tmp_path / "gone")
    assert open_archive_or_catalogue(loader=streamed(data_set, cache)).origin == "catalogue"
    part = open_archive_or_catalogue(loader=streamed(data_set, cache, splits=("level_1",)))
    assert part.origin == "archive"


def test_only_the_splits_asked_for_are_read(data_set: Path, tmp_path: Path) -> None:
    loader = streamed(data_set, tmp_path / "cache", splits=("level_2",))
    assert {row.level for row in loader.rows()} == {2}
    with pytest.raises(UserError, match="has no split level_9"):
        next(streamed(data_set, tmp_path / "cache", splits=("level_9",)).rows())


def test_a_stream_that_breaks_off_is_reported_and_not_kept(data_set: Path, tmp_path: Path) -> None:
    (data_set / "data" / "level_1-00000-of-00001.parquet").rename(
        data_set / "data" / "level_1-00000-of-00002.parquet"
    )
    (data_set / "data" / "level_1-00001-of-00002.parquet").write_bytes(b"PAR1 and no more")
    stream = streamed(data_set, tmp_path / "cache", seed=None).rows()
    assert len(list(stream)) == 64 + 2 * 70  # the last rows of the sound file wait for a full batch
    assert only_problem(stream.report).kind == "broken_stream"
    assert only_problem(stream.report).row == 65
    kept = {file.name for file in (tmp_path / "cache").rglob("*.parquet")}
    assert kept == {"level_2.parquet", "level_3.parquet"}


def test_a_split_of_which_not_even_the_first_row_can_be_read_is_raised(
    data_set: Path, tmp_path: Path
) -> None:
    (data_set / "data" / "level_1-00000-of-00001.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(DatasetUnreachableError, match="answers, but its rows cannot be read"):
        next(streamed(data_set, tmp_path / "cache", seed=None).rows())


UNREACHABLE = {"HF_ENDPOINT": "http://127.0.0.1:9", "HF_HUB_OFFLINE": "0"}
OFFLINE = {"HF_HUB_OFFLINE": "1"}
OPEN = """
import sys, time
from pathlib import Path
from coding_framework.data.archives.fallback import open_archive_or_catalogue
from coding_framework.data.sakana_loader import SakanaDataLoader
started = time.monotonic()
opened = open_archive_or_catalogue(loader=SakanaDataLoader(cache_folder=Path(sys.argv[1])))
print(opened.origin, len(opened.tasks), opened.loader, time.monotonic() - started)
print(opened.sentence)
"""


@pytest.mark.parametrize("environment", [UNREACHABLE, OFFLINE], ids=["closed port", "offline mode"])
def test_without_the_hub_the_catalogue_stands_in_and_says_so(
    environment: dict[str, str], tmp_path: Path
) -> None:
    answer = subprocess.run(
        [sys.executable, "-c", OPEN, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env={**os.environ, **environment},
    )
    facts, sentence = answer.stdout.strip().splitlines()
    origin, num_tasks, loader, seconds = facts.split()
    assert (origin, loader) == ("catalogue", "None")
    assert int(num_tasks) == len(all_tasks())
    assert float(seconds) < 15
    assert "NOT used" in sentence
    assert "SakanaAI/AI-CUDA-Engineer-Archive cannot be reached" in sentence


def test_without_the_datasets_library_the_catalogue_stands_in_and_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    loader = SakanaDataLoader(cache_folder=tmp_path)
    opened = open_archive_or_catalogue(loader=loader)
    assert opened.origin == "catalogue"
    assert "coding_framework[train]" in opened.sentence
    with pytest.raises(MissingExtraError):
        next(loader.rows())


def test_a_loader_by_itself_never_falls_back(tmp_path: Path) -> None:
    loader = SakanaDataLoader(tmp_path / "not_there", through_datasets=True, cache_folder=tmp_path)
    with pytest.raises(DatasetUnreachableError, match="give their folder instead"):
        next(loader.rows())


def test_an_archive_that_is_there_is_used_and_one_that_holds_nothing_sound_is_refused(tmp_path: Path) -> None:
    opened = open_archive_or_catalogue(source=write_lines(tmp_path / "a.jsonl", [{}, archive_row()]))
    assert opened.origin == "archive"
    assert opened.tasks == ()
    assert opened.loader is not None
    assert "a.jsonl" in opened.sentence
    with pytest.raises(UserError, match="nothing sound in it"):
        open_archive_or_catalogue(source=write_lines(tmp_path / "b.jsonl", [{}, {}]))
    with pytest.raises(UserError, match="there is no file or folder"):
        open_archive_or_catalogue(source=tmp_path / "c.jsonl")
