"""One row of the AI CUDA Engineer archive, checked: a kernel, the problem it is for, what became of it.

The times are the archive's own: other hardware, another protocol, no cold cache, and known cheats
among them. They are kept under names that say so and are never a `KernelTiming`. Likewise `outcome` is
what the archive says; the judge may see it differently.
"""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import Literal

from pydantic import Field, model_validator

from coding_framework.records import Candidate, ModuleTask, Record

ArchiveOutcome = Literal["correct", "wrong", "failed"]
"""Correct; ran with other numbers; or did not compile, launch or end well."""
OUTCOMES: tuple[ArchiveOutcome, ...] = ("correct", "wrong", "failed")
Level = Literal[1, 2, 3, 4]
Difficulty = Literal[0, 1, 2, 3]


class ArchiveTiming(Record):
    """Times and speedups as the archive states them, not measured here."""

    archive_cuda_ms: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """The kernel; only where it is correct."""
    archive_torch_ms: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """PyTorch, eager."""
    archive_torch_compile_ms: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """PyTorch, compiled."""
    archive_speedup: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Over eager PyTorch; only where it is correct."""
    archive_compile_speedup: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Over compiled PyTorch; only where it is correct."""


class ArchiveMetric(Record):
    """One metric of Nsight Compute, averaged by the archive over several launches."""

    name: str
    """As Nsight Compute names it, e.g. `Achieved Occupancy`."""
    unit: str
    """Empty for a plain number."""
    average: float | None = Field(allow_inf_nan=False)
    """None: the archive has no finite number."""
    num_samples: int = Field(ge=0)
    """Launches."""


class ArchiveRule(Record):
    """One piece of advice of Nsight Compute."""

    name: str
    """Of the rule, e.g. `HighPipeUtilization`."""
    kind: str
    """WRN, INF, OPT or ERR."""
    description: str
    """In words."""


class ArchiveProfile(Record):
    """What Nsight Compute said of the kernel."""

    metrics: tuple[ArchiveMetric, ...]
    """In the archive's order."""
    rules: tuple[ArchiveRule, ...]
    """In the archive's order."""

    def metric(self, name: str) -> ArchiveMetric | None:
        return next((metric for metric in self.metrics if metric.name == name), None)


class TidyFinding(Record):
    """One remark of clang-tidy; the path is left out, for it is of its author's machine."""

    line: int = Field(ge=1)
    """In the source."""
    column: int = Field(ge=1)
    """In the line."""
    severity: Literal["warning", "error"]
    """As clang-tidy says."""
    message: str
    """In words."""
    check: str
    """Name of the check; empty for an error of the compiler."""


class TidyReport(Record):
    """What clang-tidy said of the source."""

    findings: tuple[TidyFinding, ...]
    """In the order of the output."""
    errored: bool
    """Whether clang-tidy itself gave up."""


class ArchiveRow(Record):
    """A sound row."""

    op_name: str
    """The problem, e.g. `1_Conv2D_ReLU_BiasAdd`."""
    level: Level
    """KernelBench's level."""
    task_id: int = Field(ge=1)
    """Number of the problem within its level."""
    kernel_name: str
    """What the kernel's author called it; not unique."""
    source: str
    """A `.cu` with host code, contract `extension`."""
    module_source: str
    """The problem as a PyTorch module (KernelBench as it was first released: smaller sizes)."""
    outcome: ArchiveOutcome
    """What the archive says of it."""
    timing: ArchiveTiming
    """The archive's own times."""
    max_diff: float | None = None
    """Greatest difference from the reference; None: it failed, or the difference was not a number."""
    error: str | None = None
    """What the compiler or the run said; only where it failed."""
    profile: ArchiveProfile | None = None
    """Nsight Compute, where the archive ran it."""
    tidy: TidyReport | None = None
    """clang-tidy, where the archive ran it."""
    difficulty: Difficulty
    """Tier of the problem, inferred."""

    @model_validator(mode="after")
    def _the_outcome_fits(self) -> ArchiveRow:
        if (self.outcome == "correct") != (self.timing.archive_cuda_ms is not None):
            raise ValueError("a kernel has a time if and only if it is correct")
        if (self.outcome == "failed") != (self.error is not None):
            raise ValueError("a kernel has an error text if and only if it failed")
        return self

    @cached_property
    def digest(self) -> str:
        """Content address of problem and kernel; blind to blank lines and to spaces at line ends."""
        text = "\0".join(_without_trailing_space(t) for t in (self.module_source, self.source))
        return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:32]


class ArchiveExample(Record):
    """A row as material for training: a problem that the judge can take, and one answer to it."""

    task: ModuleTask
    """The problem, with hidden shapes where they could be derived."""
    source: str
    """The kernel."""
    contract: Literal["extension"] = "extension"
    """How it is built and called."""
    outcome: ArchiveOutcome
    """What the archive says of it."""
    level: Level
    """KernelBench's level."""
    difficulty: Difficulty
    """Tier of the problem, inferred."""
    archive_timing: ArchiveTiming
    """The archive's own times."""
    error: str | None = None
    """What the compiler or the run said; only where it failed."""
    digest: str
    """Of the row."""

    @property
    def candidate(self) -> Candidate:
        return Candidate(source=self.source, contract=self.contract)


def _without_trailing_space(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.splitlines() if line.strip())
