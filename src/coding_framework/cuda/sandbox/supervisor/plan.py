"""What the supervisor is told to do: one JSON line, then the bytes of the files.

Everything here crosses a process boundary, so it is plain data. It never crosses into the sandbox.
"""

from __future__ import annotations

import json
from typing import BinaryIO, NamedTuple

WORK_FOLDER = "/sandbox"
"""Working folder inside a sandbox that has its own view of the file system."""


class Mount(NamedTuple):
    """One entry of the file system that the program sees."""

    kind: str
    """`readonly`, `writable` (an existing file), `device`, `symlink` or `tmpfs`."""
    target: str
    """Where the program sees it."""
    source: str = ""
    """The host's path, the link's text, or the size of a tmpfs in bytes."""


class Limits(NamedTuple):
    """Plain copy of `SandboxLimits`."""

    wall_s: float
    cpu_s: float
    memory_bytes: int | None
    processes: int
    file_bytes: int


class Plan(NamedTuple):
    """One program, how to hold it in, and how to end it."""

    mode: str
    """`process`, `bubblewrap` or `docker`."""
    command: list[str]
    """The program; in the other two modes the complete command line of the tool."""
    environment: dict[str, str]
    """All of the program's environment; in the other two modes the tool's."""
    mounts: list[Mount]
    """The view of the file system (`process`), or what Landlock opens (without namespaces)."""
    limits: Limits
    """What it may use up."""
    gpu: bool
    """Whether address space must stay unlimited."""
    namespaces: str
    """`user`, `root` or `none`: see `process.py`."""
    name: str
    """Of the control group or the container; holds the judge's pid."""
    folder: str
    """Temporary folder to be made and removed; empty where none is needed."""
    file_sizes: dict[str, int]
    """Names and sizes of the files that follow."""


class Report(NamedTuple):
    """How it ended, as the supervisor saw it."""

    ended_by: str
    exit_code: int | None
    signal: int | None
    fault: str
    """Not empty where the sandbox itself could not be set up."""


def write_plan(stream: BinaryIO, plan: Plan, files: dict[str, bytes]) -> None:
    """The judge's side."""
    fields = plan._asdict() | {"file_sizes": {name: len(content) for name, content in files.items()}}
    stream.write(json.dumps(fields).encode() + b"\n")
    for content in files.values():
        stream.write(content)
    stream.flush()


def read_plan(stream: BinaryIO) -> tuple[Plan, dict[str, bytes]]:
    """The supervisor's side. A judge that died in between leaves an incomplete plan: EOFError."""
    line = stream.readline()
    if not line.endswith(b"\n"):
        raise EOFError("the plan broke off")
    fields = json.loads(line)
    fields["mounts"] = [Mount(*entry) for entry in fields["mounts"]]
    fields["limits"] = Limits(*fields["limits"])
    plan = Plan(**fields)
    files = {}
    for name, size in plan.file_sizes.items():
        files[name] = stream.read(size)
        if len(files[name]) != size:
            raise EOFError("a file broke off")
    return plan, files
