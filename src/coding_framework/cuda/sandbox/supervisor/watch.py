"""Sees that limits are kept which the kernel does not keep for us, and that the judge is alive.

Where a control group holds memory and processes, only time and the private folder are looked at.
Elsewhere the whole tree is counted every 20 ms: a program can be over its limit for that long.
"""

from __future__ import annotations

import os
import select
import time

from coding_framework.cuda.sandbox.supervisor import tree
from coding_framework.cuda.sandbox.supervisor.plan import Limits

COUNT_EVERY_S = 0.02
LOOK_EVERY_S = 0.25
_OURS = 2
"""Processes of the sandbox itself that are counted along."""


class Watch:
    """Waits for one process: until it ends, breaks a limit, or nobody wants it any more."""

    def __init__(self, pid: int, limits: Limits, lifeline: int, count_tree: bool, folder: str = "") -> None:
        self._pid = pid
        self._limits = limits
        self._lifeline = lifeline
        self._count_tree = count_tree
        self._folder = folder
        self._judge = os.getppid()
        self._deadline = time.monotonic() + limits.wall_s

    def wait(self) -> str:
        """Why it is over: `ended`, `timeout`, `memory`, `processes`, `files` or `killed`."""
        ending = os.pidfd_open(self._pid)
        poll = select.poll()
        poll.register(ending, select.POLLIN)
        poll.register(self._lifeline, select.POLLIN | select.POLLHUP)
        try:
            while True:
                reason = self._step(poll, ending)
                if reason:
                    return reason
        finally:
            os.close(ending)

    def _step(self, poll: select.poll, ending: int) -> str:
        pause = COUNT_EVERY_S if self._count_tree else LOOK_EVERY_S
        left = self._deadline - time.monotonic()
        ready = {descriptor for descriptor, _ in poll.poll(max(0.0, min(pause, left)) * 1000)}
        if ending in ready:
            return "ended"
        if self._lifeline in ready or os.getppid() != self._judge:
            return "killed"
        if time.monotonic() >= self._deadline:
            return "timeout"
        return self._broken_limit()

    def _broken_limit(self) -> str:
        if self._count_tree:
            pids = [self._pid, *tree.descendants(self._pid)]
            threads, resident = tree.usage(pids)
            if threads > self._limits.processes + _OURS:
                return "processes"
            memory = self._limits.memory_bytes
            if memory is not None and resident > memory and tree.proportional_bytes(pids) > memory:
                return "memory"
        if self._folder and tree.folder_bytes(self._folder) > self._limits.file_bytes:
            return "files"
        return ""
