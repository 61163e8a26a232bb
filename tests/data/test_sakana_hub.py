"""The archive streamed from the hub, kept on disk, and what happens without either."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from archive_support import archive_row, kernel_names, load_archive, only_problem, write_table

from coding_framework.data.sakana_loader import SakanaDataLoader
from coding_framework.errors import DatasetUnreachableError, MissingExtraError, UserError


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
    assert list(stream) == load_archive(data_set)[0]
    assert stream.report.rows_kept == 210


def test_a_streamed_split_is_kept_and_read_again_without_its_source(data_set: Path, tmp_path: Path) -> None:
    loader = streamed(data_set, tmp_path / "cache", seed=4)
    first = kernel_names(loader)
    assert len(list((tmp_path / "cache").rglob("level_*.parquet"))) == 3
    data_set.rename(tmp_path / "gone")
    assert kernel_names(loader) == first


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
    with pytest.raises(DatasetUnreachableError):
        next(streamed(data_set, cache).rows())
    assert len(list(streamed(data_set, cache, splits=("level_1",)).rows())) == 70


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
import sys
from pathlib import Path
from coding_framework.data.sakana_loader import SakanaDataLoader
from coding_framework.errors import DatasetUnreachableError
try:
    next(SakanaDataLoader(cache_folder=Path(sys.argv[1])).rows())
except DatasetUnreachableError as error:
    print(error)
"""


@pytest.mark.parametrize("environment", [UNREACHABLE, OFFLINE], ids=["closed port", "offline mode"])
def test_without_the_hub_the_error_says_what_to_do(environment: dict[str, str], tmp_path: Path) -> None:
    answer = subprocess.run(
        [sys.executable, "-c", OPEN, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env={**os.environ, **environment},
    )
    assert "SakanaAI/AI-CUDA-Engineer-Archive cannot be reached" in answer.stdout
    assert "give" in answer.stdout


def test_without_the_datasets_library_the_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingExtraError, match=r"coding_framework\[train\]"):
        next(SakanaDataLoader(cache_folder=tmp_path).rows())


def test_a_loader_by_itself_never_falls_back(tmp_path: Path) -> None:
    loader = SakanaDataLoader(tmp_path / "not_there", through_datasets=True, cache_folder=tmp_path)
    with pytest.raises(DatasetUnreachableError, match="give their folder instead"):
        next(loader.rows())
