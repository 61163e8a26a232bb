"""Nsight Compute: run a program under `ncu` and read where its kernels' time goes.

Guarantees: either a `ProfileReport` made of the counters that `ncu` printed, or a `ToolUnavailable`
that says why there is none. Clocks are left as they are and caches are flushed between passes, so
the figures are those of a cold launch. It takes seconds (each launch is replayed some ten times), so
it is for single candidates on request. It does not judge, and its times are not used as timings.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from coding_framework.cuda.profiler.ncu_metrics import (
    REQUESTED,
    UnreadableProfile,
    missing_metrics,
    parse_csv,
)
from coding_framework.cuda.profiler.ncu_report import build_report
from coding_framework.cuda.profiler.tools import ToolRun, ToolUnavailable, find_tool, last_lines, run_tool
from coding_framework.records import ProfileReport

TOOL = "ncu"
MAX_LAUNCHES = 64
DRIVER_PARAMETERS = Path("/proc/driver/nvidia/params")
_PLACES = ("opt/nvidia/nsight-compute/*/ncu", "usr/local/cuda*/nsight-compute*/ncu")
_FORBIDDEN = "ERR_NVGPUCTRPERM"
_MISSING_WORDS = (
    "Nsight Compute is not installed: install the `nsight-compute` package of the CUDA toolkit, or put "
    "`ncu` on PATH"
)
_FORBIDDEN_WORDS = (
    "this user may not read the GPU's performance counters: run as root or with CAP_SYS_ADMIN (in a "
    "container: --cap-add=SYS_ADMIN), or load the driver with NVreg_RestrictProfilingToAdminUsers=0"
)


@cache
def find_ncu() -> Path | None:
    """The `ncu` of this machine."""
    return find_tool(TOOL, *_PLACES)


class NsightCompute:
    """Profiles programs with one `ncu`."""

    def __init__(self, ncu: Path | None = None, driver_parameters: Path = DRIVER_PARAMETERS) -> None:
        self._ncu = ncu or find_ncu()
        self._driver_parameters = driver_parameters

    def available(self) -> ToolUnavailable | None:
        """None if a profile can be tried; otherwise why not."""
        if self._ncu is None:
            return ToolUnavailable(tool=TOOL, reason="missing", words=_MISSING_WORDS)
        if os.geteuid() != 0 and self._only_for_administrators():
            return ToolUnavailable(tool=TOOL, reason="forbidden", words=_FORBIDDEN_WORDS)
        return None

    def profile(
        self, command: Sequence[str], kernel_names: Sequence[str], timeout_s: float, *, ptx: str = ""
    ) -> ProfileReport | ToolUnavailable:
        """Where the named kernels' time goes when `command` runs; shuffles are told by the PTX alone."""
        unavailable = self.available()
        if unavailable is not None:
            return unavailable
        run = run_tool([str(self._ncu), *options(kernel_names), *command], timeout_s)
        return read_run(run, timeout_s=timeout_s, uses_warp_shuffle="shfl." in ptx)

    def _only_for_administrators(self) -> bool:
        """What the driver says; a driver that says nothing is tried."""
        try:
            return "RmProfilingAdminOnly: 1" in self._driver_parameters.read_text()
        except OSError:
            return False


def options(kernel_names: Sequence[str]) -> list[str]:
    """`ncu`'s command line up to the program."""
    names = "|".join(re.escape(name) for name in kernel_names)
    chosen = [f"--kernel-name=regex:^({names})$"] if names else []
    return [
        *("--csv", "--page=raw", "--print-units=base", "--target-processes=all"),
        *("--clock-control=none", f"--launch-count={MAX_LAUNCHES}", *chosen),
        *("--metrics", ",".join(REQUESTED)),
    ]


def read_run(run: ToolRun, *, timeout_s: float, uses_warp_shuffle: bool) -> ProfileReport | ToolUnavailable:
    """What `ncu` left behind, as a report or as the reason for none."""
    if _FORBIDDEN in run.output:
        return ToolUnavailable(tool=TOOL, reason="forbidden", words=_FORBIDDEN_WORDS)
    if run.exit_code is None:
        words = f"ncu was stopped after {timeout_s:g} s; allow more time or profile a smaller shape"
        return ToolUnavailable(tool=TOOL, reason="timeout", words=words)
    try:
        launches = parse_csv(run.output)
    except UnreadableProfile as error:
        return ToolUnavailable(tool=TOOL, reason="failed", words=f"ncu's output cannot be read: {error}")
    if not launches:
        return _nothing(run)
    missing = missing_metrics(launches)
    if missing:
        words = f"ncu did not give {', '.join(missing)}: this GPU or driver lacks these counters"
        return ToolUnavailable(tool=TOOL, reason="failed", words=words)
    return build_report(launches, uses_warp_shuffle=uses_warp_shuffle)


def _nothing(run: ToolRun) -> ToolUnavailable:
    said = last_lines(run.output)
    if run.exit_code == 0:
        words = f"the program ended without launching one of the kernels; ncu said: {said}"
        return ToolUnavailable(tool=TOOL, reason="nothing_profiled", words=words)
    words = f"ncu ended with exit code {run.exit_code}: {said}"
    return ToolUnavailable(tool=TOOL, reason="failed", words=words)
