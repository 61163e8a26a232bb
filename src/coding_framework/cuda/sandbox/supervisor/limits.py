"""The limits that the kernel keeps for each process, as numbers: computed once, set in the child.

RLIMIT_NPROC counts all processes of a user, except within a user namespace (since Linux 5.14), and
does not hold root at all. Address space stands in for memory only where no control group could be
made, and never with a GPU: CUDA reserves terabytes of it.
"""

# pathlib is left out to start quickly:
# ruff: noqa: PTH116, PTH208

from __future__ import annotations

import math
import os
import resource
from contextlib import suppress

from coding_framework.cuda.sandbox.supervisor.plan import Plan

OPEN_FILES = 4096
Limit = tuple[int, int, int]
"""Which, soft, hard."""


def limits_for(plan: Plan, in_group: bool) -> list[Limit]:
    """What the program may use up, one process at a time."""
    cpu_s = math.ceil(plan.limits.cpu_s)
    processes = _processes(plan)
    limits = [
        (resource.RLIMIT_CPU, cpu_s, cpu_s + 1),
        (resource.RLIMIT_FSIZE, plan.limits.file_bytes, plan.limits.file_bytes),
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_NOFILE, OPEN_FILES, OPEN_FILES),
        (resource.RLIMIT_NPROC, processes, processes),
    ]
    if plan.limits.memory_bytes is not None and not plan.gpu and not in_group:
        limits.append((resource.RLIMIT_AS, plan.limits.memory_bytes, plan.limits.memory_bytes))
    return limits


def set_limits(limits: list[Limit], pid: int = 0) -> None:
    """Never more than the hard limit that is there already."""
    for which, soft, hard in limits:
        ceiling = resource.prlimit(pid, which)[1]
        if ceiling != resource.RLIM_INFINITY:
            soft, hard = min(soft, ceiling), min(hard, ceiling)
        resource.prlimit(pid, which, (soft, hard))


def _processes(plan: Plan) -> int:
    """With room for the first process of the namespace, or for what the user runs already."""
    if plan.namespaces == "none":
        return plan.limits.processes + _threads_of_user()
    return plan.limits.processes + 1


def _threads_of_user() -> int:
    mine = os.getuid()
    count = 0
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError):
                if os.stat(f"/proc/{name}").st_uid == mine:
                    count += len(os.listdir(f"/proc/{name}/task"))
    return count
