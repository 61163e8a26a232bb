"""The sandbox that needs nothing installed: namespaces, Landlock, seccomp and limits of the kernel.

How much it guarantees depends on what the kernel lets us do; it is tried once, for real, and
`isolation` says which of the three it is.

`user` and `root`: with namespaces (a user namespace, or as root without one)
- The program sees a file system of its own: `/usr` and the libraries, what its request names, all
  read-only; a private working folder, `/tmp` and `/dev/shm` of bounded size; nothing else exists.
- It has no network but an empty one, and no processes but its own to see or to signal.
- The end of its pid namespace is the end of everything it started. There is no way around that.
- Landlock (where the kernel has it) and the seccomp filter stand behind these walls.

`none`: without namespaces, at least Landlock 3 (Linux 6.2)
- Landlock holds it to the same files and to a private folder. It still sees the names and the
  metadata of other files. The folder's size is watched, not bounded: it can overshoot for a moment.
- The filter refuses all sockets, and changes of permissions, owners and times.
- Signals to others are stopped by Landlock 6 (Linux 6.12), before that by the filter, which then also
  refuses those between the program's own processes.
- Everything it started is killed by a subreaper that searches until none is left. Two weak spots:
  whoever kills that supervisor with SIGKILL leaves grandchildren behind, and a program that forks and
  exits without pause can outrun the search for a while.
- `/proc` is closed but for its own folder, and shared IPC objects cannot be made.

In all three: nothing inherited but the standard streams, no capabilities, no new privileges, limits
on processor time, file size, open files and core files. Memory and processes are held by a control
group where one can be made (version 1 or 2). Elsewhere memory is held by the address space of each
process (not with a GPU) and by a watcher of the whole tree, and processes by RLIMIT_NPROC (which
does not bind root), by the watcher, and with namespaces on Linux 6.14 by at most 300 pids.

With a GPU, memory handles (CUDA IPC) pass through the walls both ways in all three kinds (measured on
an H200 with driver 580): no namespace has to be shared. Two programs in two sandboxes may have the
same pid inside, and a handle holds the pid of its maker; sharing between two sandboxes is untried.
Without namespaces the rule for `/proc` covers the program itself and not its children, so CUDA, which
writes there, is not expected to start in a child (untried).

Not guaranteed: protection from a hole in the kernel or in the GPU driver, which is passed through
whole; from timing another program's caches; from a GPU that is made to hang.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Literal

from coding_framework.cuda.sandbox.base import SandboxLimits, SandboxRequest
from coding_framework.cuda.sandbox.held import HeldProcess
from coding_framework.cuda.sandbox.held_sandbox import HeldSandbox
from coding_framework.cuda.sandbox.supervisor import landlock, seccomp, syscalls
from coding_framework.cuda.sandbox.supervisor.plan import Plan
from coding_framework.cuda.sandbox.view import environment_for, mounts_for, plain_limits, unique_name
from coding_framework.errors import FrameworkError, NotAvailableError

Isolation = Literal["user", "root", "none"]
_ORDER: tuple[Isolation, ...] = ("user", "root", "none")
_PROBE = SandboxRequest(command=("/bin/true",), limits=SandboxLimits(wall_s=10))


class ProcessSandbox(HeldSandbox):
    """Holds programs in with the kernel's own means; implements `Sandbox`."""

    name = "process"

    def __init__(self, isolation: Isolation | None = None) -> None:
        """`isolation` asks for one kind; by default the strongest that works here."""
        self._asked = isolation
        self._isolation: Isolation | None = None

    @property
    def isolation(self) -> Isolation:
        """Which kind of walls it has here; raises where it has none."""
        problem = self.why_unavailable()
        if self._isolation is None:
            raise NotAvailableError(f"the process sandbox cannot work here: {problem}")
        return self._isolation

    def _try(self) -> str | None:
        """Why no kind of wall works here; the strongest that does is remembered."""
        if not seccomp.supported():
            return "its seccomp filter is written for x86-64 Linux only"
        problems = []
        for isolation in _ORDER if self._asked is None else (self._asked,):
            problem = self._try_isolation(isolation)
            if problem is None:
                self._isolation = isolation
                return None
            problems.append(f"{isolation}: {problem}")
        return "; ".join(problems)

    def _try_isolation(self, isolation: Isolation) -> str | None:
        if isolation == "none" and (version := syscalls.landlock_version()) < landlock.MINIMUM_VERSION:
            return f"needs Landlock {landlock.MINIMUM_VERSION} (Linux 6.2), this kernel has {version}"
        try:
            result = HeldProcess(self._plan_with(_PROBE, isolation), {}, 4096, b"").wait()
        except FrameworkError as error:
            return str(error)
        return None if result.exit_code == 0 else f"a first program ended with {result.model_dump()}"

    def _plan(self, request: SandboxRequest) -> Plan:
        return self._plan_with(request, self.isolation)

    def _plan_with(self, request: SandboxRequest, isolation: Isolation) -> Plan:
        name = unique_name()
        return Plan(
            mode="process",
            command=list(request.command),
            environment=environment_for(request),
            mounts=mounts_for(request),
            limits=plain_limits(request),
            gpu=request.gpu,
            namespaces=isolation,
            name=name,
            folder=str(Path(tempfile.gettempdir()) / name) if isolation == "none" else "",
            file_sizes={},
        )
