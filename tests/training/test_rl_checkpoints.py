"""What a killed process may leave of checkpoints, and where a run goes on from then."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from zipfile import ZipFile

import pytest
from structlog.testing import capture_logs

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
    files = ["actor/model.pt", "actor/optim.pt", "data.pt"]
    for name in files if whole else files[:2]:
        with ZipFile(folder / name, "w") as archive:  # as torch writes it
            archive.writestr("data.pkl", bytes(300))


def empty(checkpoints: Path, *steps: int) -> None:
    """As verl leaves old ones."""
    for step in steps:
        shutil.rmtree(checkpoints / f"global_step_{step}" / "actor")


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
    assert go_back_to_recorded(tmp_path, {1}) == 0
    assert steps(tmp_path) == []


def test_emptied_checkpoints_are_none_and_the_newest_with_weights_is_never_lost(checkpoints: Path) -> None:
    write(checkpoints, 8)
    (checkpoints / MARKER).write_text("8")
    empty(checkpoints, 2, 4)
    with capture_logs() as events:
        assert go_back_to_recorded(checkpoints, range(1, 6)) == 8
    assert latest(checkpoints) == 8
    assert steps(checkpoints) == [6, 8]
    assert [event["steps"] for event in events] == [[6, 7, 8]]
    prune_checkpoints(checkpoints, keep=1)
    assert go_back_to_recorded(checkpoints, [*range(1, 6), 9]) == 8, (
        "killed again, before the next checkpoint"
    )


def test_an_emptied_checkpoint_does_not_count_although_its_step_was_recorded(checkpoints: Path) -> None:
    empty(checkpoints, 2, 6)
    assert go_back_to_recorded(checkpoints, range(1, 7)) == 4
    assert steps(checkpoints) == [4]


@pytest.mark.parametrize("file", ["actor/model.pt", "actor/optim.pt", "data.pt"])
@pytest.mark.parametrize("left", [0, 200])
def test_a_checkpoint_with_a_torn_file_is_passed_over(checkpoints: Path, file: str, left: int) -> None:
    os.truncate(checkpoints / "global_step_6" / file, left)
    assert go_back_to_recorded(checkpoints, range(1, 7)) == 4
    assert steps(checkpoints) == [2, 4]


def test_what_torch_writes_counts_as_a_checkpoint(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    (tmp_path / "global_step_1" / "actor").mkdir(parents=True)
    for name in ("actor/model.pt", "data.pt"):
        torch.save({"weights": torch.ones(3)}, tmp_path / "global_step_1" / name)
    assert go_back_to_recorded(tmp_path, {1}) == 1
    assert latest(tmp_path) == 1


def test_the_newest_are_kept(checkpoints: Path) -> None:
    prune_checkpoints(checkpoints, keep=1)
    assert steps(checkpoints) == [6]
