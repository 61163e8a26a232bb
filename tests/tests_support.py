"""Shared by tests: evaluations built by hand, and whether a process has ended."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from coding_framework.records import (
    Candidate,
    CompilationResult,
    Diagnostic,
    Evaluation,
    KernelResources,
    KernelTiming,
    ProfileReport,
    ShapeCheck,
    Verdict,
)


def is_alive(pid: int) -> bool:
    """A zombie is dead."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def wait_until_dead(pid: int, limit_s: float = 30) -> bool:
    """A killed process may take a moment to end."""
    deadline = time.monotonic() + limit_s
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not is_alive(pid)


class EvaluationFactory:
    """Evaluations as the judge would give them, for tests of what comes after the judge."""

    def compilation(self, *, success: bool = True, warnings: int = 0, **resources: Any) -> CompilationResult:
        usage = KernelResources(kernel="k", **{"registers": 20, **resources})
        return CompilationResult(
            success=success,
            compiler="nvrtc",
            toolkit="13.0",
            architecture="sm_90",
            kernel_names=("k",) if success else (),
            binary_path=Path("k.cubin") if success else None,
            ptx="" if success else None,
            resources=(usage,) if success else (),
            diagnostics=tuple(Diagnostic(severity="warning", message="unused") for _ in range(warnings))
            + (() if success else (Diagnostic(severity="error", message="expected ';'", line=3),)),
            duration_s=0.01,
        )

    def profile(self, **changes: Any) -> ProfileReport:
        values: dict[str, Any] = {
            "source": "emulator",
            "occupancy": 1.0,
            "warp_execution_efficiency": 1.0,
            "sectors_per_request": 4.0,
            "coalescing_efficiency": 1.0,
            "bank_conflicts_per_access": 0.0,
            "dram_bytes": 1000,
            "dram_throughput_share": 0.5,
            "instructions": 100,
            "limiter": "memory",
            "bottleneck": "Memory bound.",
        }
        return ProfileReport(**{**values, **changes})

    def passed(
        self, speedup: float = 1.0, *, warnings: int = 0, profile: Any = None, **resources: Any
    ) -> Evaluation:
        check = ShapeCheck(dimensions={"n": 4}, distribution="normal", hidden=False, passed=True)
        return Evaluation(
            task="scale",
            candidate=Candidate(source="// kernel"),
            verdict=Verdict.PASSED,
            message="correct.",
            compilation=self.compilation(warnings=warnings, **resources),
            checks=(check,) * 4,
            num_checks_planned=4,
            timing=KernelTiming(
                kind="modelled",
                device="H200",
                dimensions={"n": 4},
                median_us=10.0 / speedup,
                reference_median_us=10.0,
                floor_us=0.001,
            ),
            profile=profile or self.profile(),
        )

    def failed(self, verdict: Verdict, *, good_checks: int = 0) -> Evaluation:
        check = ShapeCheck(dimensions={"n": 4}, distribution="normal", hidden=False, passed=True)
        compiled = verdict not in (Verdict.NO_CANDIDATE, Verdict.BAD_LAUNCH_PLAN, Verdict.COMPILE_ERROR)
        tried = compiled or verdict is Verdict.COMPILE_ERROR
        return Evaluation(
            task="scale",
            candidate=None if verdict is Verdict.NO_CANDIDATE else Candidate(source="// kernel"),
            verdict=verdict,
            message=f"it is {verdict.value}",
            compilation=self.compilation(success=compiled) if tried else None,
            checks=(check,) * good_checks,
            num_checks_planned=4 if compiled else 0,
        )
