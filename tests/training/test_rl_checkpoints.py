"""What a killed process may leave of checkpoints, and where a run goes on from then."""

from __future__ import annotations

from pathlib import Path

import pytest

from coding_framework.training.rl.checkpoints import (
    go_back_to_recorded,
    latest_checkpoint,
    prune_checkpoints,
    saved_step,
)

MARKER = "latest_checkpointed_iteration.txt"


@pytest.fixture
def checkpoints(tmp_path: Path) -> Path:
    for step in (2, 4, 6):
        write(tmp_path, step)
    (tmp_path / MARKER).write_text("6")
    return tmp_path


def write(checkpoints: Path, step: int, *, whole: bool = True) -> None:
    folder = checkpoints / f"global_step_{step}"
    (folder / "actor").mkdir(parents=True)
    if whole:
        (folder / "data.pt").touch()


def steps(checkpoints: Path) -> list[int]:
    return sorted(int(folder.name.rpartition("_")[2]) for folder in checkpoints.glob("global_step_*"))


def latest(checkpoints: Path) -> int:
    found = latest_checkpoint(checkpoints)
    return 0 if found is None else found[0]


def test_the_last_step_that_was_saved_and_recorded_is_where_it_goes_on(checkpoints: Path) -> None:
    assert go_back_to_recorded(checkpoints, range(1, 7)) == 6
    assert steps(checkpoints) == [2, 4, 6]


def test_a_step_that_was_saved_and_not_recorded_is_done_again(checkpoints: Path) -> None:
    assert go_back_to_recorded(checkpoints, range(1, 6)) == 4
    assert latest(checkpoints) == 4
    assert steps(checkpoints) == [2, 4]


def test_a_folder_beyond_the_marker_was_being_written(checkpoints: Path) -> None:
    write(checkpoints, 8)
    assert go_back_to_recorded(checkpoints, range(1, 9)) == 6
    assert steps(checkpoints) == [2, 4, 6]


def test_a_step_is_saved_when_a_run_would_go_on_from_it(checkpoints: Path) -> None:
    write(checkpoints, 8)
    assert saved_step(checkpoints, range(1, 9)) == 6
    assert saved_step(checkpoints, range(1, 6)) == 4
    assert saved_step(checkpoints / "none", range(1, 9)) == 0
    assert steps(checkpoints) == [2, 4, 6, 8], "nothing was touched"


@pytest.mark.parametrize("text", ["", "\n"])
def test_a_marker_without_text_was_being_written_after_its_folder(checkpoints: Path, text: str) -> None:
    (checkpoints / MARKER).write_text(text)
    assert go_back_to_recorded(checkpoints, range(1, 7)) == 6
    assert latest(checkpoints) == 6


def test_an_unfinished_folder_is_none_even_if_the_marker_is_torn(checkpoints: Path) -> None:
    write(checkpoints, 8, whole=False)
    (checkpoints / MARKER).write_text("")
    assert go_back_to_recorded(checkpoints, range(1, 9)) == 6


def test_without_a_recorded_step_it_begins_at_the_start(checkpoints: Path) -> None:
    assert go_back_to_recorded(checkpoints, ()) == 0
    assert latest(checkpoints) == 0
    assert list(checkpoints.iterdir()) == []


def test_before_the_first_checkpoint_there_is_nothing_to_go_back_to(tmp_path: Path) -> None:
    assert go_back_to_recorded(tmp_path / "none", {1}) == 0
    write(tmp_path, 2)
    assert go_back_to_recorded(tmp_path, {1, 2}) == 0
    assert steps(tmp_path) == []


def test_the_newest_are_kept(checkpoints: Path) -> None:
    prune_checkpoints(checkpoints, keep=1)
    assert steps(checkpoints) == [6]
