"""Control groups where this process may make them: exact limits on memory and processes.

Version 2 below our own group or below the root, whichever hands controllers on; version 1 below our
own group of each controller. Where neither can be written, `make_group` gives None and the watcher
of `watch.py` counts instead. A group is removed by the supervisor, so also after the judge's death.
"""

# pathlib is left out to start quickly:
# ruff: noqa: PTH102, PTH106, PTH112, PTH118, PTH123

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import NamedTuple


class ControlGroup(NamedTuple):
    """One group; in version 1 one folder a controller."""

    memory: str
    """Folder that limits memory."""
    pids: str
    """Folder that limits processes; the same one in version 2."""
    version: int

    def add(self, pid: int) -> None:
        for folder in {self.memory, self.pids}:
            _write(folder, "cgroup.procs", str(pid))

    def hit_memory_limit(self) -> bool:
        """Whether the kernel killed something in it for want of memory."""
        name = "memory.events" if self.version == 2 else "memory.oom_control"
        try:
            with open(os.path.join(self.memory, name)) as stream:
                return any(line.startswith("oom_kill ") and int(line.split()[1]) > 0 for line in stream)
        except OSError:
            return False

    def kill(self) -> None:
        """Everything in it at once, where the kernel can (version 2, since 5.14)."""
        if self.version == 2:
            with suppress(OSError):
                _write(self.memory, "cgroup.kill", "1")

    def remove(self, patience_s: float = 5.0) -> None:
        """Once its last process is gone; the kernel may need a moment for that."""
        deadline = time.monotonic() + patience_s
        for folder in {self.memory, self.pids}:
            while os.path.isdir(folder):
                try:
                    os.rmdir(folder)
                except OSError:
                    if time.monotonic() > deadline:
                        break
                    time.sleep(0.005)


def make_group(
    name: str, memory_bytes: int | None, processes: int, cgroups: str = "", mounts: str = ""
) -> ControlGroup | None:
    """A new group with these limits, or None where none can be made."""
    memory, pids, version = _parents(cgroups or _read("/proc/self/cgroup"), mounts or _read("/proc/mounts"))
    if memory is None or pids is None:
        return None
    group = ControlGroup(os.path.join(memory, name), os.path.join(pids, name), version)
    try:
        for folder in {group.memory, group.pids}:
            os.mkdir(folder)
        _limit(group, memory_bytes, processes)
    except OSError:
        group.remove(0)
        return None
    return group


def _limit(group: ControlGroup, memory_bytes: int | None, processes: int) -> None:
    _write(group.pids, "pids.max", str(processes))
    if memory_bytes is None:
        return
    limits = ("memory.max", "memory.swap.max") if group.version == 2 else ("memory.limit_in_bytes", "")
    _write(group.memory, limits[0], str(memory_bytes))
    with suppress(OSError):  # kernels without swap accounting
        if group.version == 2:
            _write(group.memory, limits[1], "0")
        else:
            _write(group.memory, "memory.memsw.limit_in_bytes", str(memory_bytes))


def _parents(cgroups: str, mounts: str) -> tuple[str | None, str | None, int]:
    """Folders below which groups with both controllers may be made."""
    own: dict[str, str] = {}
    for line in cgroups.splitlines():
        _, controllers, path = line.split(":", 2)
        own |= dict.fromkeys(controllers.split(","), path)
    places: dict[str, str] = {}
    for line in mounts.splitlines():
        _, place, kind, options, *_ = line.split()
        if kind == "cgroup2":
            places[""] = place
        elif kind == "cgroup":
            places |= dict.fromkeys(options.split(","), place)
    for folder in (_below(places.get(""), own.get("")), places.get("")):
        if folder and {"memory", "pids"} <= set(
            _read(os.path.join(folder, "cgroup.subtree_control")).split()
        ):
            return folder, folder, 2
    first = [_below(places.get(controller), own.get(controller)) for controller in ("memory", "pids")]
    return first[0], first[1], 1


def _below(place: str | None, path: str | None) -> str | None:
    """Our own group's folder; inside a container the path may lead nowhere, then the mount itself."""
    if place is None or path is None:
        return None
    folder = place + path.rstrip("/")
    return folder if os.path.isdir(folder) else place


def _read(path: str) -> str:
    try:
        with open(path) as stream:
            return stream.read()
    except OSError:
        return ""


def _write(folder: str, name: str, text: str) -> None:
    with open(os.path.join(folder, name), "w") as stream:
        stream.write(text)
