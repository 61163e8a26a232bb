"""What judging host code came to."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from coding_framework.cuda.executors.host.clocks import SLACK_SHARE, SLACK_US
from coding_framework.cuda.extension.records import ExtensionBuild
from coding_framework.errors import JudgeFault
from coding_framework.records import KernelTiming, ShapeCheck, Verdict
from coding_framework.records.base import Record


class HostSettings(Record):
    """What is special about candidates with host code; the rest is in `JudgeConfig`."""

    device: Literal["cuda", "cpu"] = "cuda"
    """`cpu` runs the same protocol on CPU tensors; for tests alone, it is no score."""
    blocks: int = Field(default=5, ge=2)
    """Timed blocks of the candidate, each followed by one of the reference."""
    start_timeout_s: float = Field(default=60, gt=0)
    """Until a child has imported torch."""
    load_timeout_s: float = Field(default=120, gt=0)
    """A module may compile CUDA while it is loaded."""
    flush_bytes: int | None = Field(default=None, ge=1)
    """Overwritten before each call; None: twice the L2 cache."""
    clock_slack_us: float = Field(default=SLACK_US, ge=0)
    """How far the wall clock may lie above the claimed time, for each call, at the least."""
    clock_slack_share: float = Field(default=SLACK_SHARE, ge=0)
    """And as a share of the claimed time."""
    patience_s: float = Field(default=15, ge=0)
    """How long the last hearing of clocks that disagree goes on: everyone else needs the device sooner or
    later, which is held alone, and so the machine comes to rest."""
    compiled_reference: bool = False
    """Also time `torch.compile` of the reference (seconds for each task)."""
    require_own_kernels: bool = True
    """Refuse candidates whose own kernels do not contribute; off only where nothing can launch one."""


class HostTiming(Record):
    """How fast a candidate with host code is."""

    device: str
    """Where it was measured."""
    median_us: float = Field(gt=0)
    """The claimed time, with what the device does after it; see `clocks.py`."""
    interval_us: tuple[float, float]
    """95 % interval."""
    claimed_us: float = Field(ge=0)
    """Median of the device times that the candidate's process reported."""
    wall_us: float = Field(ge=0)
    """The judge's own clock, less the harness."""
    overhead_us: float
    """What the harness takes for each call."""
    left_us: float = 0.0
    """For how much longer than with the reference the device went on after a call."""
    reference_median_us: float = Field(gt=0)
    """The reference module, eager, under the same protocol."""
    reference_interval_us: tuple[float, float]
    """Its interval."""
    num_samples: int = Field(ge=1)
    """Timed calls."""
    floor_us: float | None = Field(default=None, gt=0)
    """Least time in which the compulsory bytes pass the device; None on a CPU."""
    own_kernel_share: float | None = Field(default=None, ge=0, le=1)
    """Share of the device time in the candidate's own kernels."""
    other_references_us: dict[str, float] = Field(default_factory=dict)
    """Other baselines."""
    bandwidth_share: float | None = Field(default=None, ge=0)
    """Compulsory bytes over the time, as a share of the card's peak."""

    def as_kernel_timing(self) -> KernelTiming:
        """The form that an evaluation holds; a CPU's time is no score."""
        if self.floor_us is None:
            raise JudgeFault("a time taken on a CPU cannot be scored")
        return KernelTiming(
            kind="measured",
            device=self.device,
            dimensions={},
            median_us=self.median_us,
            reference_median_us=self.reference_median_us,
            reference="pytorch eager",
            num_samples=self.num_samples,
            interval_us=self.interval_us,
            reference_interval_us=self.reference_interval_us,
            floor_us=self.floor_us,
            bandwidth_share=self.bandwidth_share,
            other_references_us=self.other_references_us,
            own_kernel_share=self.own_kernel_share,
        )


class HostOutcome(Record):
    """The verdict on a candidate with host code, and what it rests on."""

    verdict: Verdict
    """The outcome."""
    message: str
    """In words that an agent can act on."""
    checks: tuple[ShapeCheck, ...] = ()
    """Every run that was compared, up to the first that failed."""
    num_checks_planned: int = Field(default=0, ge=0)
    """How many a full pass takes."""
    timing: HostTiming | None = None
    """Only for a candidate that passed."""
    build: ExtensionBuild | None = None
    """What the compiler said, for the contract `extension`."""
    notes: tuple[str, ...] = ()
    """What was seen and is no verdict: results that differ in the last bits."""
    gate_seconds: dict[str, float] = Field(default_factory=dict)
    """Wall-clock time by stage."""

    @model_validator(mode="after")
    def _passed_if_and_only_if_timed(self) -> HostOutcome:
        if (self.verdict is Verdict.PASSED) != (self.timing is not None):
            raise ValueError("a candidate has a timing if and only if it passed")
        return self
