"""The seam between host code that nobody trusts and whatever holds it in.

A sandbox starts one program with no network, a read-only view of what it is given, a private
temporary folder as its working directory, and limits on everything it can use up. Its standard
streams are pipes of ours: what goes over them is data, never a verdict. Every implementation passes
the same conformance suite (`tests/cuda/sandbox/`).
"""

from __future__ import annotations

from pathlib import Path
from typing import IO, Literal, Protocol

from pydantic import Field

from coding_framework.records.base import Record

MIB = 2**20


class SandboxLimits(Record):
    """What a program may use up before it is ended."""

    wall_s: float = Field(default=60, gt=0)
    """Time until it is killed with everything it started."""
    cpu_s: float = Field(default=60, gt=0)
    """Processor time of a process."""
    memory_bytes: int | None = Field(default=2048 * MIB, gt=0)
    """Memory; None only where CUDA must reserve address space and no cgroup can be had."""
    processes: int = Field(default=64, ge=1)
    """Processes and threads at the same time."""
    file_bytes: int = Field(default=256 * MIB, ge=0)
    """Largest file it may write, and the size of its private folder where that can be limited."""
    output_bytes: int = Field(default=MIB, ge=0)
    """Standard output and error together; what comes after is cut off, and the program is ended."""


class SandboxRequest(Record):
    """One program to hold in."""

    command: tuple[str, ...] = Field(min_length=1)
    """The program and its arguments; found inside the sandbox."""
    files: dict[str, bytes] = Field(default_factory=dict)
    """Written into the working folder before the start."""
    readable: tuple[Path, ...] = ()
    """Files and folders of the host that it may read (and execute), at the same paths."""
    environment: dict[str, str] = Field(default_factory=dict)
    """All of it: nothing is inherited."""
    limits: SandboxLimits = SandboxLimits()
    """What it may use up."""
    gpu: bool = False
    """Whether the GPU's device files are passed through."""


class SandboxResult(Record):
    """How a program ended."""

    ended_by: Literal["exit", "signal", "timeout", "memory", "output", "killed"]
    """By itself, by a signal, by one of its limits, or because we closed it."""
    exit_code: int | None
    """Only if it ended by itself."""
    stdout: bytes
    """Up to the limit."""
    stderr: bytes
    """Up to the limit."""
    duration_s: float = Field(ge=0)
    """From start to end."""


class SandboxedProcess(Protocol):
    """A running program that is talked to over its standard streams."""

    stdin: IO[bytes]
    stdout: IO[bytes]

    def close(self) -> SandboxResult:
        """End it and everything it started, for certain; safe to call twice."""
        ...

    def is_running(self) -> bool: ...


class Sandbox(Protocol):
    """Holds programs in. Faults of the program are values; a sandbox that cannot work raises."""

    @property
    def name(self) -> str: ...

    def run(self, request: SandboxRequest, stdin: bytes = b"") -> SandboxResult:
        """Start it, feed it, wait for its end or its limits."""
        ...

    def start(self, request: SandboxRequest) -> SandboxedProcess:
        """Start it and keep it; `limits.wall_s` holds from here, `output_bytes` for stderr only."""
        ...
