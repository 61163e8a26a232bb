"""What a run has on this machine: its processes, their memory, the GPU's, and open files.

Processes are found by a mark in their environment, which children inherit: one that was orphaned by a
killed parent is found as surely as a child of ours.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

MARK = "CODING_FRAMEWORK_RUN_MARK"
_PROC = Path("/proc")


@contextmanager
def marked() -> Iterator[str]:
    """Everything started inside carries the mark."""
    before, mark = os.environ.get(MARK), secrets.token_hex(16)
    os.environ[MARK] = mark
    try:
        yield mark
    finally:
        if before is None:
            del os.environ[MARK]
        else:
            os.environ[MARK] = before


def marked_processes(mark: str) -> dict[int, str]:
    """Process → command line of everything alive that carries the mark; zombies are dead."""
    wanted = f"{MARK}={mark}".encode()
    found: dict[int, str] = {}
    for folder in _PROC.iterdir():
        if folder.name.isdigit():
            with suppress(OSError):
                if wanted in (folder / "environ").read_bytes().split(b"\0"):
                    found[int(folder.name)] = _command(folder)
    return found


def _command(folder: Path) -> str:
    words = (folder / "cmdline").read_bytes().split(b"\0")
    return b" ".join(words).decode(errors="replace").strip()[:120]


def resident_bytes(processes: Iterator[int] | list[int]) -> int:
    """Memory of these processes; what they share is counted once, in parts."""
    return sum(_proportional_bytes(pid) for pid in processes)


def _proportional_bytes(pid: int) -> int:
    with suppress(OSError):
        for line in (_PROC / str(pid) / "smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0


def open_descriptors() -> int:
    """Of this process."""
    return sum(1 for _ in (_PROC / "self" / "fd").iterdir())


def gpu_bytes_in_use(index: int = 0) -> int | None:
    """Of one device, by everybody; None where no driver tool answers."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return None
    query = [tool, "--query-gpu=memory.used", "--format=csv,noheader,nounits", f"--id={index}"]
    try:
        answer = subprocess.run(query, capture_output=True, text=True, timeout=30, check=True)
        return int(answer.stdout.strip()) * 2**20
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
