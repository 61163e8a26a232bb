"""What of the host a program sees: the system's programs and libraries, and what its request names.

Not there: home folders, `/root`, `/run`, `/var`, `/srv`, `/etc` beyond the few files that the dynamic
linker and name lookups need. The GPU's driver is added on request.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from coding_framework.cuda.sandbox.base import SandboxRequest
from coding_framework.cuda.sandbox.supervisor.plan import WORK_FOLDER, Limits, Mount
from coding_framework.errors import UserError

NAME_PREFIX = "coding-framework-sandbox"
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
SYSTEM_FILES = (
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/alternatives",
    "/etc/passwd",
    "/etc/group",
    "/etc/nsswitch.conf",
    "/etc/localtime",
    "/sys/devices/system/cpu",
    "/sys/devices/system/node",
)
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
DEVICE_LINKS = (
    ("/dev/fd", "/proc/self/fd"),
    ("/dev/stdin", "/proc/self/fd/0"),
    ("/dev/stdout", "/proc/self/fd/1"),
    ("/dev/stderr", "/proc/self/fd/2"),
)
GPU_READABLE = ("/sys/devices", "/sys/bus/pci", "/sys/module/nvidia", "/sys/module/nvidia_uvm")
GPU_DEVICES = ("nvidia*", "nvidia-caps/*", "dxg")
LINKER_FOLDERS = ("/usr/lib/x86_64-linux-gnu", "/usr/lib64")
DRIVER_FOLDERS = ("/usr/local/nvidia/lib64", "/usr/local/nvidia/lib", "/usr/lib/wsl/lib")


def unique_name() -> str:
    """For what must be cleaned up: whoever finds one left behind sees whose it was."""
    return f"{NAME_PREFIX}-{os.getpid()}-{secrets.token_hex(6)}"


def mounts_for(request: SandboxRequest) -> list[Mount]:
    """The complete view, in the order in which it must be built."""
    size = str(request.limits.file_bytes)
    mounts = system_mounts()
    mounts += [Mount("tmpfs", folder, size) for folder in (WORK_FOLDER, "/tmp", "/dev/shm")]
    mounts += [Mount("symlink", path, target) for path, target in DEVICE_LINKS]
    mounts += [Mount("device", path, path) for path in (*DEVICES, *(gpu_devices() if request.gpu else ()))]
    named = readable_pairs(request)
    mounts += [Mount("readonly", target, source) for target, source in named if not _is_system(target)]
    mounts += [Mount("writable", target, source) for target, source in writable_pairs(request)]
    if request.gpu:
        mounts += [Mount("readonly", path, path) for path in GPU_READABLE if Path(path).exists()]
    return mounts


def system_mounts() -> list[Mount]:
    """`/usr` and what belongs to it; merged folders stay links."""
    mounts = []
    for path in SYSTEM:
        if Path(path).is_symlink():
            mounts.append(Mount("symlink", path, str(Path(path).readlink())))
        elif Path(path).is_dir():
            mounts.append(Mount("readonly", path, path))
    mounts += [
        Mount("readonly", path, os.path.realpath(path)) for path in SYSTEM_FILES if Path(path).exists()
    ]
    return mounts


def readable_pairs(request: SandboxRequest) -> list[tuple[str, str]]:
    """(where the program sees it, where it really is) for all that the request names."""
    pairs = []
    for path in (*request.readable, *(map(Path, driver_folders()) if request.gpu else ())):
        if not path.exists():
            raise UserError(f"the sandbox is to show {path}, which does not exist")
        real = path.resolve()
        pairs.append((str(real), str(real)))
        if path != real:
            pairs.append((str(path), str(real)))
    return pairs


def writable_pairs(request: SandboxRequest) -> list[tuple[str, str]]:
    """The same for existing files that it may also write."""
    for path in request.writable:
        if not path.is_file():
            raise UserError(f"the sandbox is to write {path}, which is not an existing file")
    return [(str(path), str(path.resolve())) for path in request.writable]


def _is_system(path: str) -> bool:
    return any(path == folder or path.startswith(folder + "/") for folder in SYSTEM)


def gpu_devices() -> list[str]:
    """Device files of the NVIDIA driver."""
    found = {path for pattern in GPU_DEVICES for path in Path("/dev").glob(pattern) if not path.is_dir()}
    return sorted(str(path) for path in found)


def driver_folders() -> list[str]:
    """Folders with the driver's libraries that the linker's cache may not know."""
    named = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    folders = dict.fromkeys(folder for folder in (*named, *DRIVER_FOLDERS) if folder)
    return [folder for folder in folders if any(Path(folder).glob("libcuda.so*"))]


def gpu_libraries() -> list[str]:
    """The driver's libraries in the linker's own folders, for a root that is not this machine's."""
    patterns = ("libcuda.so*", "libnvidia-*.so*", "libcudadebugger.so*")
    found = {path for folder in LINKER_FOLDERS for pattern in patterns for path in Path(folder).glob(pattern)}
    return sorted(str(path) for path in found)


def environment_for(request: SandboxRequest) -> dict[str, str]:
    """All of the program's environment."""
    if not request.gpu or not (folders := driver_folders()):
        return dict(request.environment)
    return {"LD_LIBRARY_PATH": ":".join(folders)} | request.environment


def plain_limits(request: SandboxRequest) -> Limits:
    limits = request.limits
    return Limits(limits.wall_s, limits.cpu_s, limits.memory_bytes, limits.processes, limits.file_bytes)
