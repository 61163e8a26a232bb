"""The child's side of the process sandbox: locks itself in, step by step, and becomes the program.

Order matters. The file system is built while we may mount; descriptors, limits and capabilities
follow; Landlock and seccomp come last, because after them nothing of this could be done any more.
Whatever fails is written to a pipe and the program is never started: there is no half a sandbox.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import NoReturn

from coding_framework.cuda.sandbox.supervisor import filesystem, landlock, seccomp, syscalls
from coding_framework.cuda.sandbox.supervisor.limits import Limit, set_limits
from coding_framework.cuda.sandbox.supervisor.plan import WORK_FOLDER, Plan

DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin"
NOT_FOUND = 127
NOTES = 3
"""Descriptor of the pipe to the supervisor: a fault, or how the program ended."""
_OPEN_PROC = tuple(
    f"/proc/{name}"
    for name in (
        *("self", "meminfo", "cpuinfo", "stat", "filesystems", "version", "uptime", "loadavg"),
        *("devices", "modules", "driver/nvidia", "sys/vm"),
    )
)
"""What may be read of `/proc` where it is the host's; the second line is what CUDA looks at."""


def namespace_flags(plan: Plan) -> int:
    """What `clone` is asked for."""
    if plan.namespaces == "none":
        return 0
    flags = syscalls.CLONE_NEWNS | syscalls.CLONE_NEWNET | syscalls.CLONE_NEWPID
    flags |= syscalls.CLONE_NEWIPC | syscalls.CLONE_NEWUTS
    return flags | (syscalls.CLONE_NEWUSER if plan.namespaces == "user" else 0)


def become_program(plan: Plan, files: dict[str, bytes], go: int, notes: int, limits: list[Limit]) -> NoReturn:
    """Wait for the go, lock in, start. Never returns."""
    try:
        _die_with_supervisor(go)
        os.dup2(notes, NOTES, inheritable=False)
        syscalls.close_from(NOTES + 1)
        if plan.namespaces == "none":
            _confine_and_execute(plan, plan.folder, limits)
        _lead_namespaces(plan, files, limits)
    except BaseException as error:
        _note(f"fault {type(error).__name__}: {error}")
    os._exit(125)


def _die_with_supervisor(go: int) -> None:
    """The kernel kills us with it; the byte proves that it was alive after we asked for that."""
    syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.read(go, 1) != b"g":
        os._exit(125)


def _lead_namespaces(plan: Plan, files: dict[str, bytes], limits: list[Limit]) -> NoReturn:
    """First process of the namespaces: builds them, starts the program, and reaps until it ends.

    Its own end takes every process of the pid namespace with it; nothing inside can signal it.
    """
    filesystem.build_root(plan.mounts, plan.limits.processes)
    filesystem.write_files(WORK_FOLDER, files)
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 0)
    program = os.fork()
    if program == 0:
        _confine_and_execute(plan, WORK_FOLDER, limits)
    for descriptor in range(NOTES):
        os.close(descriptor)
    syscalls.drop_capabilities()
    ended, status = 0, 0
    while ended != program:
        ended, status = os.waitpid(-1, 0)
    _note(f"status {status}")
    os._exit(0)


def _confine_and_execute(plan: Plan, folder: str, limits: list[Limit]) -> NoReturn:
    try:
        _confine(plan, folder, limits)
    except BaseException as error:
        _note(f"fault {type(error).__name__}: {error}")
        os._exit(125)
    _execute(plan.command, plan.environment)


def _confine(plan: Plan, folder: str, limits: list[Limit]) -> None:
    os.setsid()
    os.chdir(folder)
    os.umask(0o077)
    for number in set(signal.valid_signals()) - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    set_limits(limits)
    if plan.namespaces == "root":
        os.setgroups([])
    syscalls.drop_capabilities()
    syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
    _restrict_files(plan, folder)
    syscalls.install_filter(_filter(plan))


def _restrict_files(plan: Plan, folder: str) -> None:
    version = syscalls.landlock_version()
    existing = [entry.target for entry in plan.mounts if entry.kind in ("device", "writable")]
    if plan.namespaces == "none":
        readable = [entry.source for entry in plan.mounts if entry.kind == "readonly"] + list(_OPEN_PROC)
        landlock.restrict(readable, [folder], [*existing, "/proc/self"], version)
    elif version:
        writable = [entry.target for entry in plan.mounts if entry.kind == "tmpfs"]
        landlock.restrict(["/"], writable, [*existing, "/proc"], version)


def _filter(plan: Plan) -> bytes:
    alone = plan.namespaces == "none"
    signals_are_free = alone and syscalls.landlock_version() < landlock.SIGNALS_VERSION
    return seccomp.assemble(
        shared_files=alone,
        gpu=plan.gpu,
        only_signal_process=os.getpid() if signals_are_free else None,
    )


def _execute(command: list[str], environment: dict[str, str]) -> NoReturn:
    """As a shell does it: a program that is not there ends with 127 and a line on standard error."""
    folders = environment.get("PATH", DEFAULT_PATH).split(":")
    tries = [command[0]] if "/" in command[0] else [f"{folder}/{command[0]}" for folder in folders]
    problem = ""
    for path in tries:
        try:
            os.execve(path, command, environment)
        except OSError as error:
            problem = error.strerror or str(error)
    sys.stderr.write(f"{command[0]}: {problem}\n")
    sys.stderr.flush()
    os._exit(NOT_FOUND)


def _note(text: str) -> None:
    os.write(NOTES, text.encode(errors="replace")[:2000] + b"\n")
