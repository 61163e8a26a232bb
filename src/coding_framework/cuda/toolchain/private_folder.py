"""A folder of this process alone, which does not outlive it for long.

Compilers need a place for files. A process that ends removes its folder; one that was killed cannot,
so the next to start removes every folder whose owner no longer holds its lock. Locks end with their
process, in any container that shares the temporary folder.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import os
import shutil
import tempfile
from functools import lru_cache
from pathlib import Path

PREFIX = "cf-compile-"
_LOCK = "owner.lock"


def private_folder() -> Path:
    """This process's own; made on the first call, removed at its end."""
    return _private_folder(os.getpid())


@lru_cache(maxsize=1)
def _private_folder(owner: int) -> Path:
    parent = Path(tempfile.gettempdir())
    sweep(parent)
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
    descriptor = os.open(folder / _LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC)
    fcntl.flock(descriptor, fcntl.LOCK_EX)  # held until the process ends, however it ends
    atexit.register(_remove_own, folder, owner)
    return folder


def _remove_own(folder: Path, owner: int) -> None:
    if os.getpid() == owner:  # a fork ends without taking its parent's folder away
        shutil.rmtree(folder, ignore_errors=True)


def sweep(parent: Path) -> int:
    """Remove what killed processes left; returns how many folders."""
    return sum(_remove_if_abandoned(folder) for folder in parent.glob(f"{PREFIX}*"))


def _remove_if_abandoned(folder: Path) -> bool:
    with contextlib.suppress(OSError):  # in use, of another user, without a lock yet, or gone already
        descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
            return True
        finally:
            os.close(descriptor)
    return False
