"""Programs for sandboxes, and eyes for what they leave behind."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from coding_framework.cuda.sandbox.base import Sandbox, SandboxLimits, SandboxRequest, SandboxResult
from coding_framework.cuda.sandbox.held import HeldProcess

SYSTEM_PYTHON = Path("/usr/bin/python3")
PATH = "/usr/local/bin:/usr/bin:/bin"
MIB = 2**20


class Bench:
    """One sandbox with short ways to run Python in it."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox

    @property
    def kind(self) -> str:
        return self.sandbox.name

    def request(self, *command: str, **fields: Any) -> SandboxRequest:
        limits = SandboxLimits(**{"wall_s": 30, "processes": 32, **fields.pop("limits", {})})
        environment = {"PATH": PATH, **fields.pop("environment", {})}
        return SandboxRequest(command=command, limits=limits, environment=environment, **fields)

    def python_request(self, code: str, *arguments: str, **fields: Any) -> SandboxRequest:
        if SYSTEM_PYTHON.exists() or self.kind == "docker":
            return self.request(str(SYSTEM_PYTHON), "-I", "-S", "-c", code, *arguments, **fields)
        places = {Path(sys.base_prefix), Path(sys.prefix), Path(sys.executable).resolve().parents[1]}
        readable = (*places, *fields.pop("readable", ()))
        executable = str(Path(sys.executable).resolve())
        return self.request(executable, "-I", "-S", "-c", code, *arguments, readable=readable, **fields)

    def python(self, code: str, *arguments: str, stdin: bytes = b"", **fields: Any) -> SandboxResult:
        return self.sandbox.run(self.python_request(code, *arguments, **fields), stdin)

    def start(self, code: str, *arguments: str, **fields: Any) -> HeldProcess:
        started = self.sandbox.start(self.python_request(code, *arguments, **fields))
        assert isinstance(started, HeldProcess)
        return started


def processes_with(token: str) -> list[int]:
    """Living processes of the whole machine that carry the token in their command line."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                words = (entry / "cmdline").read_bytes()
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if token.encode() in words and state != "Z":
                found.append(int(entry.name))
    return found


def left_behind(prefix: str, patience_s: float = 30) -> list[str]:
    """Processes, control groups, containers and folders whose names start so, after a moment's grace."""
    deadline = time.monotonic() + patience_s
    while (found := _look(prefix)) and time.monotonic() < deadline:
        time.sleep(0.1)
    return found


def _look(prefix: str) -> list[str]:
    found = [f"process {pid}" for pid in processes_with(prefix)]
    found += [str(path) for path in Path(tempfile.gettempdir()).glob(f"{prefix}*")]
    for root, folders, _ in os.walk("/sys/fs/cgroup"):
        found += [f"{root}/{folder}" for folder in folders if folder.startswith(prefix)]
    return found + _containers(prefix)


def _containers(prefix: str) -> list[str]:
    if shutil.which("docker") is None:
        return []
    command = ["docker", "ps", "--all", "--filter", f"name={prefix}", "--format", "{{.Names}}"]
    answer = subprocess.run(command, capture_output=True, text=True)
    return [f"container {name}" for name in answer.stdout.split()]
