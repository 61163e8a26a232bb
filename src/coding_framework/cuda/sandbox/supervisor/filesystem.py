"""Builds what the program sees as its file system, in a mount namespace of its own.

Guaranteed: only what the plan names exists; all of it is read-only except the tmpfs entries, which
are bounded in size; `/proc` shows the program's own pid namespace, and nothing in it can be written
but the folders of its own processes (root could otherwise write to `/proc/sys` even without
capabilities; CUDA must write the names of its threads); the host's tree is detached before the
program starts, so there is no path back to it.
"""

# pathlib is left out to start quickly:
# ruff: noqa: PTH101, PTH102, PTH103, PTH110, PTH112, PTH118, PTH120, PTH123, PTH208, PTH211

from __future__ import annotations

import os
import stat

from coding_framework.cuda.sandbox.supervisor import syscalls
from coding_framework.cuda.sandbox.supervisor.plan import Mount

_READ_ONLY = syscalls.MOUNT_ATTR_RDONLY | syscalls.MOUNT_ATTR_NOSUID
_SMALLEST_PID_MAX = 301
MASKED = tuple(
    f"/proc/{name}"
    for name in ("kcore", "kmsg", "kpagecount", "kpageflags", "kpagecgroup", "keys", "timer_list")
)
"""Files of the kernel that the owner root may read even without capabilities."""


def build_root(mounts: list[Mount], processes: int) -> None:
    """Replace this process's root. Needs the capabilities of the namespace's owner."""
    syscalls.mount("", "/", "", syscalls.MS_REC | syscalls.MS_PRIVATE)
    _tmpfs("/tmp", 2**20)  # a place to stand on; the host's own /tmp is untouched
    os.mkdir("/tmp/new")
    os.mkdir("/tmp/old")
    syscalls.pivot_root("/tmp", "/tmp/old")
    os.chdir("/")
    _tmpfs("/new", 2**20)
    for entry in mounts:
        _place(entry)
    _proc(processes)
    syscalls.detach("/old")
    os.chdir("/new")
    syscalls.pivot_root(".", ".")
    syscalls.detach(".")
    os.chdir("/")
    syscalls.protect_mount("/", _READ_ONLY, recursive=False)


def write_files(folder: str, files: dict[str, bytes]) -> None:
    """Executable and ours; names were checked to stay below the folder."""
    for name, content in files.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as stream:
            stream.write(content)
        os.chmod(path, 0o755)


def _place(entry: Mount) -> None:
    target = "/new" + entry.target
    if entry.kind == "symlink":
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.symlink(entry.source, target)
    elif entry.kind == "tmpfs":
        os.makedirs(target, exist_ok=True)
        _tmpfs(target, int(entry.source))
    else:
        source = "/old" + os.path.realpath(entry.source) if entry.kind == "device" else "/old" + entry.source
        _make_mount_point(source, target)
        syscalls.bind(source, target)
        no_devices = 0 if entry.kind == "device" else syscalls.MOUNT_ATTR_NODEV
        access = _READ_ONLY if entry.kind == "readonly" else syscalls.MOUNT_ATTR_NOSUID
        syscalls.protect_mount(target, access | no_devices)


def _make_mount_point(source: str, target: str) -> None:
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
        return
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if not os.path.exists(target):
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o444))


def _tmpfs(target: str, size_bytes: int) -> None:
    flags = syscalls.MS_NOSUID | syscalls.MS_NODEV
    size = max(size_bytes, 4096)
    syscalls.mount("tmpfs", target, "tmpfs", flags, f"size={size},nr_inodes={1024 + size // 4096},mode=0755")


def _proc(processes: int) -> None:
    """A `/proc` of our own pid namespace, in which pids run out early: the last stop of a fork bomb."""
    os.makedirs("/new/proc", exist_ok=True)
    flags = syscalls.MS_NOSUID | syscalls.MS_NODEV | syscalls.MS_NOEXEC
    syscalls.mount("proc", "/new/proc", "proc", flags)
    _bound_pids(max(_SMALLEST_PID_MAX, processes + 50))
    for path in kernel_entries("/new/proc"):
        syscalls.bind("/old/dev/null" if path in MASKED else "/new" + path, "/new" + path)
        syscalls.protect_mount("/new" + path, _READ_ONLY)


def kernel_entries(proc: str) -> list[str]:
    """What of `/proc` belongs to the kernel and could be written or must not be read."""
    found = []
    for name in sorted(os.listdir(proc)):
        if name.isdigit():  # a process, which may have ended since
            continue
        mode = os.lstat(f"{proc}/{name}").st_mode
        if stat.S_ISDIR(mode) or (not stat.S_ISLNK(mode) and (mode & 0o222 or f"/proc/{name}" in MASKED)):
            found.append(f"/proc/{name}")
    return found


def _bound_pids(pid_max: int) -> None:
    """A value of the pid namespace since Linux 6.14; before that the whole machine's, so leave it."""
    major, minor = (int(part) for part in os.uname().release.split("-")[0].split(".")[:2])
    if (major, minor) < (6, 14):
        return
    try:
        with open("/new/proc/sys/kernel/pid_max", "w") as stream:
            stream.write(str(pid_max))
    except OSError:  # not ours to set: the other limits on processes hold
        return
