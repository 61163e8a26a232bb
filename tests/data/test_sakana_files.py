"""Files and folders of the archive, also damaged ones: the rest of it still loads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from archive_support import (
    archive_row,
    failed_row,
    load_archive,
    only_problem,
    write_lines,
    write_table,
    wrong_row,
)

from coding_framework.data.archives.problems import ProblemLog
from coding_framework.data.sakana_loader import SakanaDataLoader
from coding_framework.errors import UserError


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
    rows, report = load_archive(path)
    assert len(rows) == 2
    assert (only_problem(report).kind, only_problem(report).row) == (kind, 2)


def test_parquet_and_json_lines_give_the_same_rows(tmp_path: Path) -> None:
    content = [archive_row(1), wrong_row(2), failed_row(3), archive_row(4, Level_ID=7)]
    from_lines, lines_report = load_archive(write_lines(tmp_path / "a.jsonl", content))
    from_table, table_report = load_archive(write_table(tmp_path / "a.parquet", content))
    assert from_lines == from_table
    assert lines_report.problems_by_kind == table_report.problems_by_kind == {"out_of_range": 1}
    assert table_report.problems[0].row == 4


def test_a_truncated_parquet_file_is_reported_and_its_neighbours_load(tmp_path: Path) -> None:
    whole = write_table(tmp_path / "b.parquet", [archive_row(1)])
    (tmp_path / "a.parquet").write_bytes(whole.read_bytes()[:-200])
    (tmp_path / "c.parquet").write_bytes(b"")
    rows, report = load_archive(tmp_path)
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
    rows, report = load_archive(path)
    names = {row.kernel_name for row in rows}
    assert names == {f"scaled_relu_{n}" for n in (*range(10), *range(20, 30))}
    assert only_problem(report).kind == "unreadable_file"
    assert only_problem(report).row == 11


def test_wrong_column_types_in_a_table_are_reported_row_by_row(tmp_path: Path) -> None:
    path = write_table(tmp_path / "a.parquet", [archive_row(n, Correct="yes") for n in range(3)])
    rows, report = load_archive(path)
    assert rows == []
    assert report.problems_by_kind == {"wrong_type": 3}


def test_text_that_is_not_utf8_in_a_table_costs_its_row_only(tmp_path: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    table = pyarrow.Table.from_pylist([archive_row(n) for n in range(3)])
    broken = pyarrow.array([b"fine 0", b"\xff\xfe", b"fine 2"], pyarrow.binary()).view(pyarrow.string())
    index = table.column_names.index("Kernel_Name")
    parquet.write_table(table.set_column(index, "Kernel_Name", broken), tmp_path / "a.parquet")
    rows, report = load_archive(tmp_path / "a.parquet")
    assert [row.kernel_name for row in rows] == ["fine 0", "fine 2"]
    assert (only_problem(report).kind, only_problem(report).row) == ("broken_text", 2)


def test_a_folder_is_read_with_its_subfolders_but_not_what_is_hidden(tmp_path: Path) -> None:
    for name in ("one", "two/deep", ".partial"):
        (tmp_path / name).mkdir(parents=True)
    write_lines(tmp_path / "one/a.jsonl", [archive_row(1)])
    write_table(tmp_path / "two/deep/b.parquet", [archive_row(2)])
    write_lines(tmp_path / ".partial/c.jsonl", [archive_row(3)])
    (tmp_path / "README.md").write_text("no table")
    assert [row.kernel_name for row in load_archive(tmp_path)[0]] == ["scaled_relu_1", "scaled_relu_2"]


def test_a_path_that_is_not_there_or_holds_no_table_is_the_users_mistake(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no file or folder"):
        SakanaDataLoader(tmp_path / "missing.parquet")
    with pytest.raises(UserError, match="there is no file or folder"):
        SakanaDataLoader("missing/archive.jsonl")
    with pytest.raises(UserError, match="holds no table"):
        SakanaDataLoader(tmp_path)


def test_only_the_first_problems_are_kept_in_words_but_all_are_counted(tmp_path: Path) -> None:
    rows, report = load_archive(write_lines(tmp_path / "a.jsonl", [{"a": 1}] * 250))
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
