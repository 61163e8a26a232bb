"""What a run keeps outside its folder: noted in it, so that a start after a kill can remove it.

Ray's sockets lie in a folder of their own below the system's temporary one, and weights on their way to a
card of its own in shared memory of the host. Both are removed when they are done with; after a SIGKILL
nobody is left to do it.

Guaranteed: only what was noted by this run is removed, and of the temporary folder only one that says it is
this run's. Not guaranteed: what a run that is never taken up again left; names on other machines.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from coding_framework.monitoring.storage import append_line, storage_errors

SHARED_MEMORY = Path("/dev/shm")
_WEIGHTS = "verl_weights_"
"""How verl's names of shared memory begin."""
_OWNER_FILE = "run_folder"
_NOTES = "outside.txt"


def note_shared_memory(rl_dir: Path, name: str) -> None:
    """Before it is made."""
    append_line(rl_dir / _NOTES, name)


def note_folder(rl_dir: Path, folder: Path) -> None:
    """Of this run from now on."""
    append_line(rl_dir / _NOTES, str(folder))
    with storage_errors(folder):
        (folder / _OWNER_FILE).write_text(str(rl_dir))


def remove_leftovers(rl_dir: Path) -> None:
    """For who knows that no process of the run lives any more."""
    for file in _shared_memory(rl_dir):
        file.unlink(missing_ok=True)
    for folder in _folders(rl_dir):
        shutil.rmtree(folder, ignore_errors=True)
    (rl_dir / _NOTES).unlink(missing_ok=True)


def shared_bytes_left(run_dir: Path) -> int:
    """Of shared memory, which taking the run up would free."""
    parts = [notes.parent for notes in (run_dir / "rl").rglob(_NOTES)]
    return sum(file.stat().st_size for part in parts for file in _shared_memory(part))


def _shared_memory(rl_dir: Path) -> list[Path]:
    names = {name for name in _noted(rl_dir) if name.startswith(_WEIGHTS) and "/" not in name}
    return [file for name in sorted(names) if (file := SHARED_MEMORY / name).is_file()]


def _folders(rl_dir: Path) -> list[Path]:
    folders = [Path(name) for name in _noted(rl_dir) if name.startswith("/")]
    return [folder for folder in folders if _owner(folder) == str(rl_dir)]


def _owner(folder: Path) -> str | None:
    try:
        return (folder / _OWNER_FILE).read_text()
    except OSError:
        return None


def _noted(rl_dir: Path) -> list[str]:
    try:
        return (rl_dir / _NOTES).read_text(errors="replace").splitlines()
    except OSError:
        return []
