"""compute-sanitizer: run a program under one of its tools and read what it found.

memcheck    accesses out of bounds and misaligned ones
racecheck   two threads at one shared-memory address without a barrier between them
initcheck   global memory that is read before it was written
synccheck   barriers that not every thread reaches

Guarantees: a report is made only of output that ends with the tool's own summary; anything else is a
`ToolUnavailable` with the reason. It slows kernels down by tens of times, so it is on request only.
It finds what a run does, not what another input would make it do.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import Field

from coding_framework.cuda.profiler.sanitizer_output import (
    SanitizerFinding,
    parse_findings,
    parse_num_errors,
)
from coding_framework.cuda.profiler.tools import ToolRun, ToolUnavailable, find_tool, last_lines, run_tool
from coding_framework.records import Record

SanitizerTool = Literal["memcheck", "racecheck", "initcheck", "synccheck"]
NAME = "compute-sanitizer"
PRINT_LIMIT = 100
_PLACES = ("usr/local/cuda*/compute-sanitizer/compute-sanitizer", "usr/local/cuda*/bin/compute-sanitizer")
_MISSING_WORDS = (
    "compute-sanitizer is not installed: install the `cuda-sanitizer` package of the CUDA toolkit, or put "
    "it on PATH"
)


class SanitizerReport(Record):
    """What one tool found in one run."""

    tool: SanitizerTool
    """Which tool looked."""
    findings: tuple[SanitizerFinding, ...]
    """Kinds of faults, each at one place."""
    num_errors: int = Field(ge=0)
    """All of them, those that were not printed included."""
    exit_code: int
    """The program's own; a kernel can fail in a way that this tool does not look for."""

    @property
    def clean(self) -> bool:
        """Nothing was found, and the program ended well."""
        return self.num_errors == 0 and not self.findings and self.exit_code == 0


@cache
def find_sanitizer() -> Path | None:
    """The compute-sanitizer of this machine."""
    return find_tool(NAME, *_PLACES)


class ComputeSanitizer:
    """Runs programs under one compute-sanitizer."""

    def __init__(self, sanitizer: Path | None = None) -> None:
        self._sanitizer = sanitizer or find_sanitizer()

    def available(self) -> ToolUnavailable | None:
        """None if it is there."""
        if self._sanitizer is None:
            return ToolUnavailable(tool=NAME, reason="missing", words=_MISSING_WORDS)
        return None

    def run(
        self, command: Sequence[str], tool: SanitizerTool, timeout_s: float = 120.0
    ) -> SanitizerReport | ToolUnavailable:
        """What `tool` finds while `command` runs."""
        unavailable = self.available()
        if unavailable is not None:
            return unavailable
        done = run_tool([str(self._sanitizer), *options(tool), *command], timeout_s)
        return read_run(done, tool, timeout_s=timeout_s)


def options(tool: SanitizerTool) -> list[str]:
    """The command line up to the program; backtraces of the host say nothing about a kernel."""
    return [
        *("--tool", tool, "--target-processes", "all"),
        *("--print-limit", str(PRINT_LIMIT), "--show-backtrace", "device"),
    ]


def read_run(run: ToolRun, tool: SanitizerTool, *, timeout_s: float) -> SanitizerReport | ToolUnavailable:
    """What the tool left behind, as a report or as the reason for none."""
    if run.exit_code is None:
        words = f"{tool} was stopped after {timeout_s:g} s; allow more time or use a smaller shape"
        return ToolUnavailable(tool=NAME, reason="timeout", words=words)
    num_errors = parse_num_errors(run.output)
    if num_errors is None:
        words = f"{tool} ended with exit code {run.exit_code} and no summary: {last_lines(run.output)}"
        return ToolUnavailable(tool=NAME, reason="failed", words=words)
    return SanitizerReport(
        tool=tool, findings=parse_findings(run.output), num_errors=num_errors, exit_code=run.exit_code
    )
