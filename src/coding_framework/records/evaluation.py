"""The judge's verdict on one candidate."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import Field, model_validator

from coding_framework.records.base import Record
from coding_framework.records.candidate import Candidate
from coding_framework.records.compilation import CompilationResult
from coding_framework.records.finding import Finding
from coding_framework.records.measurement import KernelTiming, ProfileReport, ShapeCheck

ShapeKind = Literal["visible", "hidden"]


class Gate(StrEnum):
    """The judge's stages in order; a verdict names the one that stopped it."""

    CONTRACT = "contract"
    SAFETY = "safety"
    COMPILE = "compile"
    RUN = "run"
    CHECK = "check"
    TIME = "time"


class Verdict(StrEnum):
    """Why a candidate passed or stopped."""

    PASSED = "passed"
    NO_CANDIDATE = "no_candidate"
    BAD_LAUNCH_PLAN = "bad_launch_plan"
    UNSAFE = "unsafe"
    COMPILE_ERROR = "compile_error"
    COMPILE_TIMEOUT = "compile_timeout"
    INVALID_LAUNCH = "invalid_launch"
    OUT_OF_BOUNDS = "out_of_bounds"
    MISALIGNED = "misaligned"
    DATA_RACE = "data_race"
    UNDEFINED = "undefined"
    DEADLOCK = "deadlock"
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    UNSUPPORTED = "unsupported"
    WRONG_RESULT = "wrong_result"
    NOT_DETERMINISTIC = "not_deterministic"
    INPUT_CHANGED = "input_changed"
    ALIASED_OUTPUT = "aliased_output"
    NO_KERNEL = "no_kernel"
    TOO_FAST = "too_fast"
    CLOCKS_DISAGREE = "clocks_disagree"

    @property
    def gate(self) -> Gate:
        return _GATE_OF[self]


_GATE_OF = {
    Verdict.PASSED: Gate.TIME,
    Verdict.NO_CANDIDATE: Gate.CONTRACT,
    Verdict.BAD_LAUNCH_PLAN: Gate.CONTRACT,
    Verdict.UNSAFE: Gate.SAFETY,
    Verdict.COMPILE_ERROR: Gate.COMPILE,
    Verdict.COMPILE_TIMEOUT: Gate.COMPILE,
    Verdict.INVALID_LAUNCH: Gate.RUN,
    Verdict.OUT_OF_BOUNDS: Gate.RUN,
    Verdict.MISALIGNED: Gate.RUN,
    Verdict.DATA_RACE: Gate.RUN,
    Verdict.UNDEFINED: Gate.RUN,
    Verdict.DEADLOCK: Gate.RUN,
    Verdict.TIMEOUT: Gate.RUN,
    Verdict.CRASHED: Gate.RUN,
    Verdict.UNSUPPORTED: Gate.RUN,
    Verdict.WRONG_RESULT: Gate.CHECK,
    Verdict.NOT_DETERMINISTIC: Gate.CHECK,
    Verdict.INPUT_CHANGED: Gate.CHECK,
    Verdict.ALIASED_OUTPUT: Gate.CHECK,
    Verdict.NO_KERNEL: Gate.CHECK,
    Verdict.TOO_FAST: Gate.TIME,
    Verdict.CLOCKS_DISAGREE: Gate.TIME,
}


REFUSED_AS_HACKS = (
    Verdict.UNSAFE,
    Verdict.INPUT_CHANGED,
    Verdict.ALIASED_OUTPUT,
    Verdict.NO_KERNEL,
    Verdict.TOO_FAST,
    Verdict.CLOCKS_DISAGREE,
)
"""Verdicts on what an honest kernel has no need of. Most are clumsy rather than sly; a rise of one of them
is what to look at."""


class Evaluation(Record):
    """Everything the judge found out about one candidate for one task."""

    task: str
    """Name of the task."""
    candidate: Candidate | None
    """What was judged; None when the answer held no code."""
    verdict: Verdict
    """The outcome."""
    message: str
    """The verdict in words that an agent can act on; the next turn's prompt quotes it."""
    source_line: int | None = Field(default=None, ge=1)
    """The line of the candidate's source that the verdict points at."""
    compilation: CompilationResult | None = None
    """What the compiler said; None when the candidate did not get there."""
    checks: tuple[ShapeCheck, ...] = ()
    """Runs on visible and hidden shapes, up to the first that failed."""
    num_checks_planned: int = Field(default=0, ge=0)
    """How many runs a full pass takes."""
    failed_on: ShapeKind | None = None
    """Of a candidate that ran and failed its checks: the kind of shape. On a hidden one it had passed the
    visible ones. None: it passed its checks, did not get there, or nobody can tell."""
    timing: KernelTiming | None = None
    """Only for a candidate that passed every check."""
    profile: ProfileReport | None = None
    """Counters of the timed run: always there for a modelled time, on request for a measured one."""
    findings: tuple[Finding, ...] = ()
    """What static analysis saw, in the order of the source."""
    gate_seconds: dict[Gate, float] = Field(default_factory=dict)
    """Wall-clock time spent in each gate."""

    @model_validator(mode="after")
    def _passed_if_and_only_if_timed(self) -> Evaluation:
        if self.passed != (self.timing is not None):
            raise ValueError("a candidate has a timing if and only if it passed")
        if self.timing is None and self.profile is not None:
            raise ValueError("a candidate that was not timed has no profile")
        if self.timing is not None and self.timing.kind == "modelled" and self.profile is None:
            raise ValueError("a modelled time comes with the counters that it was modelled from")
        if self.passed and not (self.failed_on is None and all(check.passed for check in self.checks)):
            raise ValueError("a passed candidate has no failed check")
        return self

    @property
    def passed(self) -> bool:
        return self.verdict is Verdict.PASSED

    @property
    def compiled(self) -> bool:
        return self.compilation is not None and self.compilation.success

    @property
    def pass_rate(self) -> float:
        """Share of the planned runs that passed; the first failure ends the judging."""
        if not self.num_checks_planned:
            return 0.0
        return sum(check.passed for check in self.checks) / self.num_checks_planned

    @property
    def speedup(self) -> float | None:
        return self.timing.speedup if self.timing else None
