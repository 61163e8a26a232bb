"""Which of verl's checkpoints a run goes on from, and which are kept.

verl writes the folder of a step, its `data.pt` last, and then the step's number into a marker file; only
after that is the step reported. Of older steps it removes the weights and leaves the rest. A process that is
killed, or a disk that is full, may leave a folder without a marker, a marker without text, or a step that
was saved and never reported; a power cut, files that are torn, since verl syncs none.

Guaranteed: what a run goes on from has weights whose files are complete (each is an archive, and its list of
contents stands at its end), and every step up to it was recorded; where no such checkpoint is left, the
newest with weights is taken, and a warning names the steps without numbers. Not guaranteed: that the bytes
within a complete file are those that were written.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection
from itertools import chain
from pathlib import Path
from zipfile import is_zipfile

import structlog

from coding_framework.errors import TrainingError
from coding_framework.monitoring.storage import storage_errors, write_whole

log = structlog.stdlib.get_logger(__name__)

_LATEST = "latest_checkpointed_iteration.txt"
_WRITTEN_LAST = "data.pt"
_TAKEN_UP = "taken_up_without_numbers"
"""In the folder of a step that was never reported, and from which a run went on all the same."""


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
    """Make the newest checkpoint that is whole and recorded the last one; its step, 0 where there is none.

    The start of the run counts as recorded as long as the weights of no checkpoint are gone: from there
    only the steps before the first checkpoint are done again.
    """
    whole, folders = _whole(checkpoints), _folders(checkpoints)
    usable = [step for step in whole if step in recorded or (folders[step] / _TAKEN_UP).exists()]
    last = max(usable, default=0)
    if not last and whole and min(folders) < min(whole):
        last = max(whole)
        _take_up(last, folders[last], recorded)
    with storage_errors(checkpoints):
        for step, folder in folders.items():
            if step > last or step not in whole:
                shutil.rmtree(folder)
        if last:
            write_whole(checkpoints / _LATEST, str(last))
        else:
            (checkpoints / _LATEST).unlink(missing_ok=True)
    return last


def _take_up(step: int, folder: Path, recorded: Collection[int]) -> None:
    with storage_errors(folder):
        (folder / _TAKEN_UP).touch()
    missing = sorted(set(range(1, step + 1)) - set(recorded))
    log.warning("steps_without_numbers", steps=missing, goes_on_from=step, why="no older weights are left")


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
    """A marker that was torn while it was written, or not begun, belongs to a folder that was finished."""
    marker = checkpoints / _LATEST
    text = marker.read_text().strip() if marker.is_file() else ""
    complete = [step for step, path in _folders(checkpoints).items() if _has_weights(path)]
    return [step for step in complete if not text.isdigit() or step <= int(text)]


def _has_weights(folder: Path) -> bool:
    """`data.pt`, and all that was saved of actor and critic, can be opened."""
    parts = [part for part in (folder / "actor", folder / "critic") if part.is_dir()]
    saved = [list(part.glob("*.pt")) for part in parts]
    files = [folder / _WRITTEN_LAST, *chain.from_iterable(saved)]
    return (folder / "actor") in parts and all(saved) and all(is_zipfile(file) for file in files)


def _folders(checkpoints: Path) -> dict[int, Path]:
    return {int(folder.name.rpartition("_")[2]): folder for folder in checkpoints.glob("global_step_*")}
