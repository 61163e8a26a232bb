"""Starts verl below a supervisor, and ends both surely."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from coding_framework.training.rl.paths import RLPaths

_END_S = 40.0


@contextmanager
def ray_folder() -> Iterator[Path]:
    """Ray's sockets live here: their paths have a limit of about 100 characters, so not in the run folder."""
    with tempfile.TemporaryDirectory(prefix="cfrl-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@contextmanager
def supervised(
    command: Sequence[str], environment: dict[str, str], paths: RLPaths
) -> Iterator[subprocess.Popen[bytes]]:
    supervisor = [sys.executable, "-m", "coding_framework.training.rl.supervisor", *command]
    with paths.log.open("ab") as log:
        process = subprocess.Popen(
            supervisor,
            env=environment,
            cwd=paths.rl_dir,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
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
