"""Which rows a pass over the archive hands out, and in which order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from archive_support import archive_row, failed_row, kernel_names, load_archive, write_lines, wrong_row

from coding_framework.data.sakana_loader import ArchiveFilter, SakanaDataLoader


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    for shard in range(3):
        rows = [
            make(100 * shard + n, Level_ID=shard + 1)
            for n, make in enumerate([archive_row, wrong_row, failed_row] * 4)
        ]
        write_lines(tmp_path / f"{shard}.jsonl", rows)
    return tmp_path


def test_the_order_is_fixed_by_seed_and_epoch(archive: Path) -> None:
    loader = SakanaDataLoader(archive, seed=1)
    assert kernel_names(loader) == kernel_names(loader) == kernel_names(SakanaDataLoader(archive, seed=1))
    assert sorted(kernel_names(loader)) == sorted(kernel_names(SakanaDataLoader(archive, seed=2)))
    orders = [
        kernel_names(loader),
        kernel_names(loader, epoch=1),
        kernel_names(SakanaDataLoader(archive, seed=2)),
        kernel_names(SakanaDataLoader(archive, seed=None)),
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
    mixed = kernel_names(SakanaDataLoader(archive, seed=3))
    assert sorted(mixed) == sorted(kernel_names(SakanaDataLoader(archive, seed=None)))
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
    kept, report = load_archive(path)
    assert [row.kernel_name for row in kept] == ["scaled_relu_1", "scaled_relu_3"]
    assert report.rows_repeated == 2
    assert len(load_archive(path, deduplicate=False)[0]) == 4


def test_a_report_in_the_middle_says_so(archive: Path) -> None:
    stream = SakanaDataLoader(archive).rows()
    next(stream)
    assert not stream.report.complete
    assert "so far" in stream.report.sentence
    list(stream)
    assert stream.report.complete
