"""A folder for exchange memory that does not outlive its judge for long.

It is removed when it is closed. A judge that is killed cannot do that, so whoever makes the next one
removes those whose owner is gone: an owner holds a lock on its folder, which ends with its process.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path

_PREFIX = "exchange-"
_MEMORY = Path("/dev/shm")
_NEW_S = 60.0
"""So old a folder must be before it counts as forsaken: one that is being made is not locked yet."""


class ExchangeFolder:
    """In memory rather than on a disk, where there is a file system for that."""

    def __init__(self, parent: Path | None = None) -> None:
        parent = parent or (_MEMORY if _MEMORY.is_dir() else Path(tempfile.gettempdir()))
        _remove_forsaken(parent)
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
        self._lock = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        fcntl.flock(self._lock, fcntl.LOCK_SH)

    def close(self) -> None:
        """Remove it; twice does no harm."""
        if self._lock >= 0:
            shutil.rmtree(self.path, ignore_errors=True)
            os.close(self._lock)
            self._lock = -1


def _remove_forsaken(parent: Path) -> None:
    """Folders that nobody holds; those of other users are theirs to remove."""
    for folder in parent.glob(_PREFIX + "*"):
        with suppress(OSError):
            if time.time() - folder.stat().st_mtime > _NEW_S and not _is_held(folder):
                shutil.rmtree(folder, ignore_errors=True)


def _is_held(folder: Path) -> bool:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        return False
    finally:
        os.close(handle)
