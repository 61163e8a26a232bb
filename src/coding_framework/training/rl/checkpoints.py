"""Which of verl's checkpoints a run goes on from, and which are kept.

verl writes the folder of a step, its `data.pt` last, and then the step's number into a marker file; only
after that is the step reported. A process that is killed, or a disk that is full, may leave a folder
without a marker, a marker without text, or a step that was saved and never reported.

Guaranteed: what a run goes on from is whole, and every step up to it was recorded.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection
from pathlib import Path

from coding_framework.errors import TrainingError
from coding_framework.monitoring.storage import storage_errors, write_whole

_LATEST = "latest_checkpointed_iteration.txt"
_WRITTEN_LAST = "data.pt"


def latest_checkpoint(checkpoints: Path) -> tuple[int, Path] | None:
    """Step and folder of the last finished checkpoint; verl writes its number after the folder."""
    marker = checkpoints / _LATEST
    if not marker.is_file():
        return None
    step = int(marker.read_text().strip())
    folder = checkpoints / f"global_step_{step}"
    if not folder.is_dir():
        raise TrainingError(f"{marker} names step {step}, but {folder} is missing")
    return step, folder


def saved_step(checkpoints: Path, recorded: Collection[int]) -> int:
    """The step that a run would go on from if it ended now; 0 for its beginning."""
    return max((step for step in _whole(checkpoints) if step in recorded), default=0)


def go_back_to_recorded(checkpoints: Path, recorded: Collection[int]) -> int:
    """Make the newest checkpoint that is whole and recorded the last one; its step, 0 where there is none."""
    usable = [step for step in _whole(checkpoints) if step in recorded]
    last = max(usable, default=0)
    with storage_errors(checkpoints):
        for step, folder in _folders(checkpoints).items():
            if step not in usable:
                shutil.rmtree(folder)
        if last:
            write_whole(checkpoints / _LATEST, str(last))
        else:
            (checkpoints / _LATEST).unlink(missing_ok=True)
    return last


def prune_checkpoints(checkpoints: Path, *, keep: int) -> None:
    """Leave the `keep` newest finished checkpoints: verl counts only those of its own process.

    A folder beyond the last finished step was being written when the process ended; it goes too.
    """
    latest = latest_checkpoint(checkpoints)
    if latest is None:
        return
    folders = _folders(checkpoints)
    finished = sorted(step for step in folders if step <= latest[0])
    for step in set(folders) - set(finished[-keep:]):
        shutil.rmtree(folders[step], ignore_errors=True)


def _whole(checkpoints: Path) -> list[int]:
    """A marker that was torn while it was written names a step whose folder was finished."""
    marker = checkpoints / _LATEST
    if not marker.is_file():
        return []
    text = marker.read_text().strip()
    complete = [step for step, path in _folders(checkpoints).items() if (path / _WRITTEN_LAST).is_file()]
    return [step for step in complete if not text.isdigit() or step <= int(text)]


def _folders(checkpoints: Path) -> dict[int, Path]:
    return {int(folder.name.rpartition("_")[2]): folder for folder in checkpoints.glob("global_step_*")}
