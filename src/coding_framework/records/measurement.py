"""Check, timing and profile: what running a kernel showed."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from coding_framework.records.base import Record

TimeKind = Literal["measured", "modelled"]
"""`measured` by a clock on a GPU, or `modelled` from exact counts; never mixed."""

Roofline = Literal["memory", "compute", "neither"]
"""The roof that a kernel reaches 60 % of; `neither`: it waits (latency, too little parallel work)."""


class WrongElement(Record):
    """One element that is not what the oracle says."""

    output: str
    """Which output."""
    index: tuple[int, ...]
    """Where."""
    expected: float
    """The oracle's value."""
    actual: float
    """The candidate's value."""


class ShapeCheck(Record):
    """One run on one shape with one distribution of inputs."""

    dimensions: dict[str, int]
    """The shape."""
    distribution: str
    """How the inputs were drawn."""
    hidden: bool
    """Whether the shape is kept from the candidate."""
    passed: bool
    """Whether every output was right and nothing else was touched."""
    max_error_ratio: float | None = Field(default=None, ge=0)
    """Largest error as a multiple of its budget (above 1 is wrong); None if the run did not end."""
    wrong_elements: tuple[WrongElement, ...] = ()
    """The first few wrong elements."""
    num_wrong: int = Field(default=0, ge=0)
    """How many elements were wrong."""
    num_unwritten: int | None = Field(default=None, ge=0)
    """How many of these were never written; None where nobody can tell."""


class KernelTiming(Record):
    """How fast a kernel proven correct is, beside the reference under the same protocol."""

    kind: TimeKind
    """Measured or modelled."""
    device: str
    """The GPU that was measured, or the one that was modelled."""
    dimensions: dict[str, int]
    """The shape."""
    median_us: float = Field(gt=0)
    """The middle of `num_samples` cold-L2 runs, or the model's value. Where distributions of inputs take
    turns, the mean over them of each one's mean without its fastest and slowest tenth; else the median."""
    reference_median_us: float = Field(gt=0)
    """The same for the reference."""
    reference: str = "naive baseline"
    """What the reference is."""
    num_samples: int = Field(default=1, ge=1)
    """Runs behind the median; 1 for a model, which has no noise."""
    interval_us: tuple[float, float] | None = None
    """95 % bootstrap interval of the median; None for a model."""
    reference_interval_us: tuple[float, float] | None = None
    """The same interval for the reference."""
    floor_us: float = Field(gt=0)
    """The least time in which the compulsory bytes and operations can pass the device."""
    transfer_us: float | None = Field(default=None, gt=0)
    """Host-to-device copy of the inputs, measured apart and part of no other figure; None for a model."""
    bandwidth_share: float | None = Field(default=None, ge=0)
    """Compulsory bytes over the time, as a share of the card's peak."""
    operations_share: float | None = Field(default=None, ge=0)
    """Operations over the time, as a share of the card's peak for the task's element type."""
    other_references_us: dict[str, float] = Field(default_factory=dict)
    """Medians of other baselines under the same protocol, e.g. `pytorch eager`, `torch.compile`."""
    own_kernel_share: float | None = Field(default=None, ge=0, le=1)
    """Share of the device time spent in the candidate's own kernels; None where it has no host code."""

    @model_validator(mode="after")
    def _a_model_has_no_interval(self) -> KernelTiming:
        if (self.kind == "modelled") != (self.interval_us is None):
            raise ValueError("a measured time has an interval and a modelled one has none")
        return self

    @property
    def speedup(self) -> float:
        return self.reference_median_us / self.median_us


class ProfileReport(Record):
    """Where the time goes: one form for Nsight Compute and for the emulator's counters."""

    source: Literal["emulator", "ncu"]
    """Who counted."""
    occupancy: float = Field(ge=0, le=1)
    """Theoretical share of the SM's warps that can be resident."""
    warp_execution_efficiency: float = Field(ge=0, le=1)
    """Mean share of active lanes over executed warp instructions."""
    sectors_per_request: float = Field(ge=0)
    """32-byte sectors per global-memory request of a warp; 4 is ideal for 4-byte elements."""
    coalescing_efficiency: float = Field(ge=0, le=1)
    """Useful bytes over bytes in the sectors moved."""
    bank_conflicts_per_access: float = Field(ge=0)
    """Extra shared-memory passes for each warp access; 0 is ideal."""
    dram_bytes: int = Field(ge=0)
    """Bytes moved between DRAM and the chip (modelled for the emulator)."""
    dram_throughput_share: float = Field(ge=0, le=1)
    """Share of the device's DRAM bandwidth used over the kernel's time."""
    instructions: int = Field(ge=0)
    """Warp instructions executed."""
    uses_warp_shuffle: bool = False
    """Whether any shuffle was executed."""
    uses_shared_memory: bool = False
    """Whether shared memory was accessed."""
    limiter: Literal["memory", "latency", "compute", "shared memory", "launch"]
    """What bounds the time."""
    bottleneck: str
    """One sentence for the next turn, with the two counters that show it."""
    achieved_occupancy: float | None = Field(default=None, ge=0, le=1)
    """Share of the SM's warps that were resident on average; None where only the theory is known."""
    l2_throughput_share: float | None = Field(default=None, ge=0, le=1)
    """Share of the L2's bandwidth used over the kernel's time; None where it was not counted."""
    stall_reasons: dict[str, float] = Field(default_factory=dict)
    """Why warps that could not issue were waiting, as shares of all waiting, largest first."""
    roofline: Roofline | None = None
    """Which roof the kernel is under; None where no clock was there to tell."""
