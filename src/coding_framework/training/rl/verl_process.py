"""Starts verl below a supervisor, and ends both surely.

Guaranteed: verl's processes of an earlier start have ended before those of the next one begin, also
where the earlier launcher was killed: the supervisor holds a lock of the run folder until all are gone.
"""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from coding_framework.errors import TrainingError
from coding_framework.monitoring.storage import storage_errors
from coding_framework.training.rl.leftovers import note_folder, remove_leftovers
from coding_framework.training.rl.paths import RLPaths

_END_S = 40.0
_QUIET_S = 60.0


@contextmanager
def ray_folder() -> Iterator[Path]:
    """Ray's sockets live here: their paths have a limit of about 100 characters, so not in the run folder."""
    with tempfile.TemporaryDirectory(prefix="cfrl-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@contextmanager
def quiet_folder(paths: RLPaths) -> Iterator[int]:
    """Wait until the processes of an earlier start have ended; yields the lock for the next ones.

    What they left outside the run folder is removed.
    """
    with storage_errors(paths.processes):
        paths.rl_dir.mkdir(parents=True, exist_ok=True)
        lock = os.open(paths.processes, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        deadline = time.monotonic() + _QUIET_S
        while not _locked(lock):
            if time.monotonic() > deadline:
                raise TrainingError(f"processes of an earlier start still train in {paths.run_dir}: end them")
            time.sleep(0.1)
        remove_leftovers(paths.rl_dir)
        note_folder(paths.rl_dir, paths.ray_temp_dir)
        yield lock
    finally:
        os.close(lock)


def _locked(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def supervised(
    command: Sequence[str], environment: dict[str, str], paths: RLPaths, lock: int
) -> Iterator[subprocess.Popen[bytes]]:
    module = "coding_framework.training.rl.supervisor"
    supervisor = [sys.executable, "-m", module, str(os.getpid()), *command]
    with paths.log.open("ab") as log:
        process = subprocess.Popen(
            supervisor,
            env=environment,
            cwd=paths.rl_dir,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=(lock,),
        )
    try:
        yield process
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """SIGTERM makes the supervisor end everything below it; SIGKILL only if it does not come back."""
    if process.poll() is not None:
        return
    process.send_signal(signal.SIGTERM)
    deadline = time.monotonic() + _END_S
    while process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.1)
    if process.poll() is None:
        process.kill()
        process.wait()
