"""What the compiler said."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from coding_framework.records.base import Record

MAX_REGISTERS = 255
"""Most registers of a thread, on every architecture since 3.5."""


class Diagnostic(Record):
    """One message of the compiler, placed in the candidate's own source."""

    severity: Literal["error", "warning", "note"]
    """How bad it is."""
    message: str
    """The compiler's words."""
    line: int | None = Field(default=None, ge=1)
    """1-based line in the candidate's source; None when it concerns no line of it."""
    column: int | None = Field(default=None, ge=1)
    """1-based column, where the compiler gives one."""
    source_line: str | None = None
    """The text of that line."""


class KernelResources(Record):
    """What one `__global__` function needs, as ptxas reports it."""

    kernel: str
    """Its name."""
    registers: int = Field(ge=0)
    """Registers of a thread."""
    static_shared_bytes: int = Field(default=0, ge=0)
    """Shared memory declared in the source."""
    local_bytes: int = Field(default=0, ge=0)
    """Stack frame of a thread."""
    spill_store_bytes: int = Field(default=0, ge=0)
    """Bytes written to local memory for want of registers."""
    spill_load_bytes: int = Field(default=0, ge=0)
    """Bytes read back."""
    theoretical_occupancy: dict[int, float] = Field(default_factory=dict)
    """Threads of a block (32 to 1,024) → share of an SM's warps that can be resident with the registers and
    the static shared memory above; 0 where such a block cannot be launched, empty where the
    architecture's limits are not known."""

    @property
    def register_pressure(self) -> float:
        """Registers as a share of the 255 that a thread can have; at 1 the compiler has begun to spill."""
        return min(1.0, self.registers / MAX_REGISTERS)


class CompilationResult(Record):
    """The outcome of compiling one source. `success` is false for the kernel's faults only."""

    success: bool
    """Whether there is a binary."""
    compiler: Literal["nvrtc", "nvcc"]
    """Which compiler gave this answer."""
    toolkit: str
    """Its version, e.g. `13.0`."""
    architecture: str
    """Real architecture compiled for, e.g. `sm_90`."""
    kernel_names: tuple[str, ...] = ()
    """Every `__global__` function of the source, in order of definition."""
    binary_path: Path | None = None
    """The cubin in the cache; `.ptx`, `.cu` (the source) and `.json` lie beside it."""
    ptx: str | None = Field(default=None, repr=False)
    """The PTX text, with line info."""
    ptx_key: str = ""
    """The same for every source whose code is the same under other comments, layout or names of variables,
    compiled in the same way; empty when there is no PTX."""
    resources: tuple[KernelResources, ...] = ()
    """One for each kernel."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """Errors, warnings and notes in the order they came."""
    timed_out: bool = False
    """The compiler itself did not end within its limit."""
    duration_s: float = Field(ge=0)
    """Wall-clock time of the compilation that filled the cache."""
    from_cache: bool = False
    """Whether that compilation happened earlier."""

    @model_validator(mode="after")
    def _a_success_has_a_binary(self) -> CompilationResult:
        if self.success != (self.binary_path is not None and self.ptx is not None):
            raise ValueError("a compilation succeeds if and only if it has a binary and PTX")
        if self.success and not self.kernel_names:
            raise ValueError("a successful compilation names its kernels")
        return self

    @property
    def kernel_name(self) -> str:
        """The first kernel, which is the only one in most sources."""
        if not self.kernel_names:
            raise ValueError("this source has no kernel")
        return self.kernel_names[0]

    @property
    def registers(self) -> dict[str, int]:
        """Of a thread of each kernel."""
        return {needs.kernel: needs.registers for needs in self.resources}

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        return tuple(d for d in self.diagnostics if d.severity == "error")

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        return tuple(d for d in self.diagnostics if d.severity == "warning")
