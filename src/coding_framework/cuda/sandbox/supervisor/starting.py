"""Starts the program: confined by ourselves, by bubblewrap, or by a Docker engine.

Each gives the process to watch. A confined program waits at a gate until it is in its control group
and its identity is mapped; bubblewrap has such a gate of its own (`--block-fd`).
"""

# pathlib is left out to start quickly:
# ruff: noqa: PTH123

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import NamedTuple, NoReturn

from coding_framework.cuda.sandbox.supervisor import seccomp, syscalls
from coding_framework.cuda.sandbox.supervisor.cgroup import ControlGroup
from coding_framework.cuda.sandbox.supervisor.confine import become_program, namespace_flags
from coding_framework.cuda.sandbox.supervisor.limits import limits_for, set_limits
from coding_framework.cuda.sandbox.supervisor.plan import Plan

INSIDE_ID = 1000
SECCOMP_FD, INFO_FD, BLOCK_FD, STATUS_FD, FIRST_FILE_FD = 10, 11, 12, 13, 20
"""Where `bubblewrap.py` says that bwrap will find its descriptors."""


class Started(NamedTuple):
    """A program on its way."""

    pid: int
    """What to watch and to wait for."""
    notes: int | None
    """Pipe with a fault or the program's status, where another process stands between."""


def start_confined(plan: Plan, files: dict[str, bytes], group: ControlGroup | None) -> Started:
    """With our own hands."""
    gate_inside, gate = os.pipe()
    notes, notes_inside = os.pipe()
    limits = limits_for(plan, group is not None)
    pid = syscalls.clone(flags) if (flags := namespace_flags(plan)) else os.fork()
    if pid == 0:
        os.close(gate)
        become_program(plan, files, gate_inside, notes_inside, limits)
    os.close(gate_inside)
    os.close(notes_inside)
    if plan.namespaces == "user":
        map_identity(pid)
    _enter(pid, group)
    with suppress(BrokenPipeError):
        os.write(gate, b"g")
    os.close(gate)
    return Started(pid, notes)


def map_identity(pid: int) -> None:
    """Inside it is an ordinary user; outside it stays who we are, so what it may read stays readable."""
    with suppress(OSError):
        _write(f"/proc/{pid}/setgroups", "deny")
    _write(f"/proc/{pid}/uid_map", f"{INSIDE_ID} {os.geteuid()} 1")
    _write(f"/proc/{pid}/gid_map", f"{INSIDE_ID} {os.getegid()} 1")


def start_bubblewrap(plan: Plan, files: dict[str, bytes], group: ControlGroup | None) -> Started:
    """Through bwrap, whose child is limited while it waits."""
    info, info_inside = os.pipe()
    notes, notes_inside = os.pipe()
    gate_inside, gate = os.pipe()
    inside = {SECCOMP_FD: _memory_file(seccomp.assemble())}
    inside |= {INFO_FD: info_inside, BLOCK_FD: gate_inside, STATUS_FD: notes_inside}
    inside |= {FIRST_FILE_FD + at: _memory_file(content) for at, content in enumerate(files.values())}
    pid = os.fork()
    if pid == 0:
        _execute(plan, inside)
    for descriptor in inside.values():
        os.close(descriptor)
    with os.fdopen(info, "rb") as stream:
        told = stream.read()
    with suppress(ProcessLookupError, BrokenPipeError):  # it failed in the meantime and will say so
        if told:
            child = int(json.loads(told)["child-pid"])
            set_limits(limits_for(plan, group is not None), child)
            _enter(child, group)
            os.write(gate, b"g")
    os.close(gate)
    return Started(pid, notes)


def start_tool(plan: Plan) -> Started:
    """A command line that does everything itself: `docker run`."""
    pid = os.fork()
    if pid == 0:
        _execute(plan, {})
    return Started(pid, None)


def _execute(plan: Plan, descriptors: dict[int, int]) -> NoReturn:
    try:
        high = {target: _above(source, 1000) for target, source in descriptors.items()}
        for target, source in high.items():
            os.dup2(source, target, inheritable=True)
        os.execve(plan.command[0], plan.command, plan.environment)
    finally:
        os._exit(125)


def _above(descriptor: int, floor: int) -> int:
    """A copy out of the way of the numbers that are to be given out."""
    import fcntl

    return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, floor)


def _enter(pid: int, group: ControlGroup | None) -> None:
    if group is not None:
        group.add(pid)
    with suppress(OSError):  # whatever runs short of memory, the program goes first
        _write(f"/proc/{pid}/oom_score_adj", "1000")


def _memory_file(content: bytes) -> int:
    descriptor = os.memfd_create("sandbox")
    with os.fdopen(os.dup(descriptor), "wb") as stream:
        stream.write(content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _write(path: str, text: str) -> None:
    with open(path, "w") as stream:
        stream.write(text)
