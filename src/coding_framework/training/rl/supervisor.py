"""Runs one command and leaves nothing of it behind: `python -m …supervisor LAUNCHER COMMAND…`.

verl starts Ray, Ray starts a dozen processes in sessions of their own, and those start judges. The
supervisor makes itself the reaper of all its descendants (Linux), so that an orphan becomes its
child. When the command ends or the supervisor is told to stop (SIGTERM, SIGINT), it ends every descendant:
SIGTERM to the command, then SIGKILL to the rest, then wait. When its launcher is gone (LAUNCHER is its
pid: who reads it from the system may come too late) nobody waits for an orderly end: all are killed at
once, so that a run that is resumed finds its folder quiet.

Not guaranteed: the same on systems without `prctl` (only the command's own session is ended there). When
the supervisor itself is killed, a command that asked for it (`end_with_parent`) ends, and what that had
started is left to itself.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_POLL_S = 0.2
_GRACE_S = 10.0


class _Stop:
    """Set by a signal."""

    requested = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self.requested = True


def main(launcher: int, command: Sequence[str]) -> int:
    stop = _Stop()
    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    _adopt_orphans()
    process = subprocess.Popen(command, start_new_session=True)
    try:
        while process.poll() is None and not stop.requested and os.getppid() == launcher:
            time.sleep(_POLL_S)
        stopped = process.poll() is None
        if stopped and os.getppid() == launcher:
            _terminate(process)
    finally:
        end_descendants(process.pid)
        process.poll()
    return 128 + signal.SIGTERM if stopped else int(process.returncode)


def _adopt_orphans() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_with_parent() -> None:
    """The process that calls it is killed when its parent is."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _terminate(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_GRACE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def end_descendants(session: int) -> None:
    """SIGKILL for everything below this process, again and again until nothing is left."""
    deadline = time.monotonic() + _GRACE_S
    if sys.platform != "linux":
        _kill_group(session)
        return
    while (left := descendants(os.getpid())) and time.monotonic() < deadline:
        for pid in left:
            _kill(pid)
        _reap()
        time.sleep(0.05)


def descendants(root: int) -> list[int]:
    """Every process below `root`, from /proc; zombies are children too until they are reaped."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (parent := _parent_of(entry)) is not None:
            children.setdefault(parent, []).append(int(entry.name))
    found: list[int] = []
    frontier = [root]
    while frontier:
        below = children.get(frontier.pop(), [])
        found += below
        frontier += below
    return found


def _parent_of(entry: Path) -> int | None:
    try:
        # The command's name stands in brackets and may hold blanks: the fields follow the last one.
        return int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
    except (OSError, IndexError, ValueError):
        return None


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _kill_group(session: int) -> None:
    try:
        os.killpg(session, signal.SIGKILL)
    except ProcessLookupError:
        return


def _reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            continue
    except ChildProcessError:
        return


if __name__ == "__main__":
    raise SystemExit(main(int(sys.argv[1]), sys.argv[2:]))
