"""The processes that a process started, with theirs: how many, how much memory, and their end.

Everything a sandboxed program starts stays below the process asked about: either the first process
of its pid namespace or a subreaper of ours adopts orphans, however often they fork and `setsid`.
"""

# pathlib is left out to start quickly:
# ruff: noqa: PTH118, PTH123, PTH208

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress

PAGE = os.sysconf("SC_PAGE_SIZE")


def descendants(root: int) -> list[int]:
    """All processes below `root`, without it."""
    found: list[int] = []
    waiting = [root]
    while waiting:
        children = _children(waiting.pop())
        found += children
        waiting += children
    return found


def _children(pid: int) -> list[int]:
    children: list[int] = []
    with suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with suppress(OSError), open(f"/proc/{pid}/task/{thread}/children", "rb") as stream:
                children += [int(word) for word in stream.read().split()]
    return children


def stop(processes: Callable[[], list[int]], patience_s: float = 5.0) -> list[int]:
    """Stop all of these, and who joins them, and wait until none of them runs; which they are.

    Raises OSError for one that is not ours to stop, or that does not stop in time.
    """
    stopped: list[int] = []
    deadline = time.monotonic() + patience_s
    while True:
        alive = processes()
        for pid in alive:
            if pid not in stopped:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGSTOP)
                stopped.append(pid)
        if all(map(_is_still, alive)) and processes() == alive:
            return stopped
        if time.monotonic() > deadline:
            resume(stopped)
            raise TimeoutError(f"processes {alive} go on")


def resume(pids: list[int]) -> None:
    """Let processes that were stopped go on."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def _is_still(pid: int) -> bool:
    """Stopped, or gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stream:
            return stream.read().rpartition(b")")[2].split()[0] in (b"T", b"t", b"Z", b"X")
    except OSError:
        return True


def usage(pids: list[int]) -> tuple[int, int]:
    """Threads and resident bytes, shared pages counted for everyone who has them."""
    threads = resident = 0
    for pid in pids:
        with suppress(OSError, IndexError), open(f"/proc/{pid}/stat", "rb") as stream:
            fields = stream.read().rpartition(b")")[2].split()
            threads += int(fields[17])
            resident += int(fields[21]) * PAGE
    return threads, resident


def proportional_bytes(pids: list[int]) -> int:
    """Resident bytes with shared pages divided among those who share them: exact, and slower."""
    total = 0
    for pid in pids:
        with suppress(OSError), open(f"/proc/{pid}/smaps_rollup", "rb") as stream:
            total += sum(int(line.split()[1]) * 1024 for line in stream if line.startswith(b"Pss:"))
    return total


def kill_descendants(root: int, patience_s: float = 10.0) -> None:
    """Kill until none is left; where `root` is this process, a subreaper, reap what falls to us.

    All are stopped before any is killed, so that a process that forks as fast as it can loses the race.
    """
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        alive = descendants(root)
        if not alive:
            return
        for signal_number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in alive:
                with suppress(OSError):
                    os.kill(pid, signal_number)
        if root == os.getpid():
            _reap()
        time.sleep(0.001)


def _reap() -> None:
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def folder_bytes(folder: str) -> int:
    """Disk used below a folder, links not followed; an empty file takes a block too."""
    total = 0
    for where, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += max(4096, os.lstat(os.path.join(where, name)).st_blocks * 512)
    return total
