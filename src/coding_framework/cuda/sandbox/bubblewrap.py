"""The sandbox of bubblewrap (`bwrap`): unprivileged namespaces set up by a small, well-known program.

Guaranteed: what `process.py` says of its namespaces: a file system of its own, no network, its own
pids, no capabilities, the same seccomp filter and the same limits. The program waits inside until its
limits and its control group hold. bwrap's first process is the pid namespace's: killed, it takes all
with it, and it dies with the supervisor.

Not guaranteed: Landlock is not used; where no control group can be made and the judge is root, a fork
bomb is stopped by the watcher alone. An exit code from 129 to 192 reads as a signal. bwrap needs user
namespaces, even as root.
"""

from __future__ import annotations

import shutil

from coding_framework.cuda.sandbox.base import SandboxLimits, SandboxRequest
from coding_framework.cuda.sandbox.held import HeldProcess
from coding_framework.cuda.sandbox.held_sandbox import HeldSandbox
from coding_framework.cuda.sandbox.supervisor import seccomp
from coding_framework.cuda.sandbox.supervisor.filesystem import MASKED, kernel_entries
from coding_framework.cuda.sandbox.supervisor.plan import WORK_FOLDER, Mount, Plan
from coding_framework.cuda.sandbox.supervisor.starting import (
    BLOCK_FD,
    FIRST_FILE_FD,
    INFO_FD,
    INSIDE_ID,
    SECCOMP_FD,
    STATUS_FD,
)
from coding_framework.cuda.sandbox.view import environment_for, mounts_for, plain_limits, unique_name
from coding_framework.errors import FrameworkError, NotAvailableError

_PROBE = SandboxRequest(command=("/bin/true",), limits=SandboxLimits(wall_s=10))


class BubblewrapSandbox(HeldSandbox):
    """Holds programs in with bwrap; implements `Sandbox`."""

    name = "bubblewrap"

    def _try(self) -> str | None:
        if shutil.which("bwrap") is None:
            return "no bwrap command: install bubblewrap (apt-get install bubblewrap)"
        if not seccomp.supported():
            return "its seccomp filter is written for x86-64 Linux only"
        try:
            result = HeldProcess(self._plan(_PROBE), {}, 4096, b"").wait()
        except FrameworkError as error:
            return str(error)
        problem = result.stderr.decode(errors="replace").strip()
        return None if result.exit_code == 0 else f"bwrap cannot make its namespaces here: {problem}"

    def _plan(self, request: SandboxRequest) -> Plan:
        bwrap = shutil.which("bwrap")
        if bwrap is None:
            raise NotAvailableError("no bwrap command: install bubblewrap (apt-get install bubblewrap)")
        return Plan(
            mode="bubblewrap",
            command=[bwrap, *arguments_for(request)],
            environment={},
            mounts=[],
            limits=plain_limits(request),
            gpu=request.gpu,
            namespaces="user",
            name=unique_name(),
            folder="",
            file_sizes={},
        )


def arguments_for(request: SandboxRequest) -> list[str]:
    """The command line of bwrap."""
    arguments = ["--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"]
    arguments += ["--unshare-cgroup-try"]
    arguments += ["--uid", str(INSIDE_ID), "--gid", str(INSIDE_ID), "--cap-drop", "ALL"]
    arguments += ["--die-with-parent", "--new-session", "--clearenv"]
    for entry in mounts_for(request):
        arguments += _mount(entry)
    arguments += ["--proc", "/proc"]
    for path in kernel_entries("/proc"):  # bwrap leaves /proc/sys open to the host's root
        arguments += ["--ro-bind", "/dev/null" if path in MASKED else path, path]
    for at, name in enumerate(request.files):
        arguments += ["--perms", "0755", "--file", str(FIRST_FILE_FD + at), f"{WORK_FOLDER}/{name}"]
    arguments += ["--remount-ro", "/", "--chdir", WORK_FOLDER]
    arguments += ["--seccomp", str(SECCOMP_FD), "--info-fd", str(INFO_FD), "--block-fd", str(BLOCK_FD)]
    arguments += ["--json-status-fd", str(STATUS_FD), "--", "/usr/bin/env", "-i"]
    arguments += [f"{name}={value}" for name, value in environment_for(request).items()]
    return [*arguments, *request.command]


def _mount(entry: Mount) -> list[str]:
    if entry.kind == "symlink":
        return ["--symlink", entry.source, entry.target]
    if entry.kind == "tmpfs":
        return ["--perms", "0755", "--size", str(max(int(entry.source), 4096)), "--tmpfs", entry.target]
    option = {"device": "--dev-bind", "writable": "--bind"}.get(entry.kind, "--ro-bind")
    return [option, entry.source, entry.target]
