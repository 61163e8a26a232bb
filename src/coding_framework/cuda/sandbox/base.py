"""The seam between host code that nobody trusts and whatever holds it in.

A sandbox starts one program with no network, a read-only view of what it is given, a private
temporary folder as its working directory, and limits on everything it can use up. Its standard
streams are pipes of ours: what goes over them is data, never a verdict. Every implementation passes
the same conformance suite (`tests/cuda/sandbox/`). The program's end takes everything with it that it
started, and so does the death of the process that asked for it.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import IO, Literal, Protocol, Self

from pydantic import Field, field_validator, model_validator

from coding_framework.records.base import Record

MIB = 2**20


class SandboxLimits(Record):
    """What a program may use up before it is ended."""

    wall_s: float = Field(default=60, gt=0)
    """Time until it is killed with everything it started."""
    cpu_s: float = Field(default=60, gt=0)
    """Processor time of a process."""
    memory_bytes: int | None = Field(default=2048 * MIB, gt=0)
    """Memory of all its processes together; None for no limit.

    A control group holds it exactly where one can be made. Elsewhere each process is held by its
    address space (not with `gpu`: CUDA reserves terabytes) and a watcher adds up what is resident.
    """
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
    writable: tuple[Path, ...] = ()
    """Existing files of ours that it may also write in place, at the same paths: shared memory."""
    environment: dict[str, str] = Field(default_factory=dict)
    """All of it: nothing is inherited. With `gpu`, LD_LIBRARY_PATH to the driver's libraries is added."""
    limits: SandboxLimits = SandboxLimits()
    """What it may use up."""
    gpu: bool = False
    """Whether the GPU's device files and the driver's libraries are passed through."""

    @field_validator("files")
    @classmethod
    def _stay_in_the_folder(cls, files: dict[str, bytes]) -> dict[str, bytes]:
        for name in files:
            path = PurePosixPath(name)
            if not path.parts or path.is_absolute() or ".." in path.parts or "\0" in name:
                raise ValueError(f"'{name}' is not a name below the working folder")
        return files

    @field_validator("readable")
    @classmethod
    def _be_absolute(cls, readable: tuple[Path, ...]) -> tuple[Path, ...]:
        for path in readable:
            if not path.is_absolute() or ".." in path.parts or len(path.parts) < 2:
                raise ValueError(f"'{path}' must be an absolute path below the root")
        return readable

    @model_validator(mode="after")
    def _have_no_nul(self) -> Self:
        texts = (*self.command, *self.environment, *self.environment.values())
        if any("\0" in text for text in texts) or any("=" in name or not name for name in self.environment):
            raise ValueError("commands and environment cannot hold NUL, nor names '='")
        return self


class SandboxResult(Record):
    """How a program ended."""

    ended_by: Literal["exit", "signal", "timeout", "memory", "processes", "files", "output", "killed"]
    """By itself, by a signal, by one of its limits, or because we closed it.

    A limit that merely makes a call fail (no more processes, no more room) is the program's to see:
    it then ends in its own way. Processor time used up is a `timeout` too.
    """
    exit_code: int | None = None
    """Only if it ended by itself. Docker and bubblewrap cannot tell 129 to 192 from a signal."""
    signal: int | None = None
    """Only if a signal ended it."""
    stdout: bytes
    """Up to the limit."""
    stderr: bytes
    """Up to the limit."""
    duration_s: float = Field(ge=0)
    """From start to end."""

    @model_validator(mode="after")
    def _say_how(self) -> Self:
        if (self.exit_code is not None) != (self.ended_by == "exit"):
            raise ValueError("an exit code is there if and only if the program ended by itself")
        if (self.signal is not None) != (self.ended_by == "signal"):
            raise ValueError("a signal is there if and only if one ended the program")
        return self


class SandboxedProcess(Protocol):
    """A running program that is talked to over its standard streams."""

    @property
    def stdin(self) -> IO[bytes]:
        """Buffered: flush what it is to see."""
        ...

    @property
    def stdout(self) -> IO[bytes]: ...

    def close(self) -> SandboxResult:
        """End it and everything it started, for certain; safe to call twice."""
        ...

    def is_running(self) -> bool: ...

    def processes(self) -> list[int]:
        """All of its processes, as this machine numbers them."""
        ...

    def freeze(self) -> None:
        """Stop it with everything it started, from here until `thaw`; returns when nothing of it runs."""
        ...

    def thaw(self) -> None: ...


class Sandbox(Protocol):
    """Holds programs in. Faults of the program are values; a sandbox that cannot work raises."""

    @property
    def name(self) -> str: ...

    def why_unavailable(self) -> str | None:
        """None where it works here, else what is missing and what to do; tried once, for real."""
        ...

    def run(self, request: SandboxRequest, stdin: bytes = b"") -> SandboxResult:
        """Start it, feed it, wait for its end or its limits."""
        ...

    def start(self, request: SandboxRequest) -> SandboxedProcess:
        """Start it and keep it; `limits.wall_s` holds from here, `output_bytes` for stderr only."""
        ...
