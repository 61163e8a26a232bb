"""Starting, ending and explaining the process behind a `Worker`.

Own session, so that a signal to the terminal does not reach it and one to its group reaches all it
started; ended by closing its channel, then by killing the group, then by waiting for it.
"""

from __future__ import annotations

import contextlib
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from coding_framework.errors import WorkerDied

_STDERR_TAIL_BYTES = 2000
_MEMORY_WORDS = re.compile(r"bad_alloc|out of memory|MemoryError|cannot allocate memory", re.IGNORECASE)
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


@dataclass
class Child:
    """A running process and the three things that tie it to us."""

    process: subprocess.Popen[bytes]
    connection: socket.socket
    lifeline: int
    stderr: IO[bytes]
    owner_pid: int
    inherited_peak_bytes: int
    """Linux counts what the parent held before `exec` as the child's own peak: below this it says nothing."""


@dataclass(frozen=True)
class Death:
    """How a child ended."""

    exit_code: int
    peak_resident_bytes: int
    """0 when it is not known."""
    stderr_tail: str


def start(memory_limit_bytes: int | None) -> Child:
    """A child that has not yet said that it is ready; None leaves its address space unlimited."""
    ours, theirs = socket.socketpair()
    lifeline_read, lifeline_write = os.pipe()
    stderr = tempfile.TemporaryFile(mode="ab+")  # noqa: SIM115 - lives as long as the child
    arguments = [str(theirs.fileno()), str(lifeline_read), str(memory_limit_bytes or 0)]
    try:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "coding_framework.cuda.worker_main", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            env=_environment(),
            pass_fds=(theirs.fileno(), lifeline_read),
            start_new_session=True,
        )
    except OSError as error:
        ours.close()
        os.close(lifeline_write)
        stderr.close()
        raise WorkerDied(f"a worker process could not be started: {error}") from error
    finally:
        theirs.close()
        os.close(lifeline_read)
    return Child(process, ours, lifeline_write, stderr, os.getpid(), _own_peak_bytes())


def _own_peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _environment() -> dict[str, str]:
    """Ours, with this package on the path and one thread a process: workers are the parallelism."""
    environment = dict(os.environ)
    root = str(Path(__file__).resolve().parents[2])
    inherited = environment.get("PYTHONPATH")
    environment["PYTHONPATH"] = os.pathsep.join([root, inherited] if inherited else [root])
    environment.update(dict.fromkeys(_ONE_THREAD, "1"))
    return environment


def end(child: Child, *, grace_s: float) -> Death:
    """Close the channel, wait a little, then kill the whole group; idempotent towards a dead child."""
    child.connection.close()
    usage_bytes = _reap(child.process, grace_s)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.process.pid, signal.SIGKILL)
    if child.process.returncode is None:
        usage_bytes = _reap(child.process, None)
    os.close(child.lifeline)
    tail = _tail(child.stderr)
    child.stderr.close()
    known_bytes = usage_bytes if usage_bytes > child.inherited_peak_bytes else 0
    return Death(child.process.returncode, known_bytes, tail)


def _reap(process: subprocess.Popen[bytes], limit_s: float | None) -> int:
    """Wait for the end, for `limit_s` at most; the peak resident size, or 0 when it is unknown."""
    deadline = None if limit_s is None else time.monotonic() + limit_s
    pause_s = 0.001
    while process.returncode is None:
        try:
            pid, status, usage = os.wait4(process.pid, 0 if deadline is None else os.WNOHANG)
        except ChildProcessError:  # someone else reaped it, as Ray's reaper may
            process.returncode = -signal.SIGKILL
            return 0
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return usage.ru_maxrss * 1024
        if deadline is not None and time.monotonic() >= deadline:
            return 0
        time.sleep(pause_s)
        pause_s = min(pause_s * 2, 0.02)
    return 0


def _tail(stderr: IO[bytes]) -> str:
    stderr.seek(max(0, os.fstat(stderr.fileno()).st_size - _STDERR_TAIL_BYTES))
    return stderr.read().decode(errors="replace").strip()


def looks_like_memory(death: Death, limit_bytes: int | None) -> bool:
    """Native code that cannot allocate crashes in many ways; its size or its last words tell."""
    if death.exit_code == 0:
        return False
    if limit_bytes is not None and death.peak_resident_bytes > 0.7 * limit_bytes:
        return True
    return bool(_MEMORY_WORDS.search(death.stderr_tail))


def describe(death: Death) -> str:
    """How it ended, in words, with its last ones."""
    if death.exit_code < 0:
        ending = f"ended by {signal.Signals(-death.exit_code).name}"
        if death.exit_code == -signal.SIGKILL:
            ending += " (perhaps the machine ran out of memory)"
    else:
        ending = f"ended with exit code {death.exit_code}"
    return f"the worker {ending}" + (f"\n{death.stderr_tail}" if death.stderr_tail else "")
