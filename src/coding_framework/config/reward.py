"""Which reward: two presets, any mix of them, every weight, and overrides for single agents.

What is guaranteed: no weight is negative, and whatever is set here, totals stay in [-0.1, 1] (they are
clipped). What is not: that a choice of weights is a good one.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field, JsonValue, model_validator

from coding_framework.records.base import Record
from coding_framework.records.conversation import AgentRole


class RewardWeights(Record):
    """The parts of the `weighted` preset; the five make up 1, the bonus comes on top."""

    compilation: float = Field(default=0.30, ge=0, le=1)
    """It compiles."""
    correctness: float = Field(default=0.30, ge=0, le=1)
    """Share of the planned checks that it passes."""
    performance: float = Field(default=0.25, ge=0, le=1)
    """Normalised speedup of what passed."""
    efficiency: float = Field(default=0.10, ge=0, le=1)
    """How well it uses the device: see `EfficiencyWeights`."""
    quality: float = Field(default=0.05, ge=0, le=1)
    """How clean it is: see `QualityWeights`."""
    improvement: float = Field(default=0.05, ge=0, le=1)
    """Bonus for the first kernel that passes after failures, or one truly faster than the best before."""

    @model_validator(mode="after")
    def _something_is_paid(self) -> RewardWeights:
        parts = self.compilation + self.correctness + self.performance + self.efficiency + self.quality
        if not 0 < parts <= 1 + 1e-9:
            raise ValueError(
                f"compilation to quality add up to {parts:g}; they must be above 0 and at most 1"
            )
        return self


class EfficiencyWeights(Record):
    """How the counters of the profile are averaged; only their proportions matter."""

    occupancy: float = Field(default=1.0, ge=0)
    """Resident warps as a share of what an SM can hold: achieved where it was counted, else possible."""
    warp_efficiency: float = Field(default=1.0, ge=0)
    """Mean share of active lanes."""
    coalescing: float = Field(default=1.0, ge=0)
    """Useful bytes over bytes moved."""
    bandwidth: float = Field(default=0.5, ge=0)
    """Useful DRAM traffic as a share of the peak, full from the roof on; half, as it also follows from the
    size of the task and from speed, which is paid already."""


class QualityWeights(Record):
    """How the signs of clean code are averaged; only their proportions matter."""

    warnings: float = Field(default=1.0, ge=0)
    """No warning of the compiler."""
    spills: float = Field(default=1.0, ge=0)
    """No registers spilled to local memory."""
    bank_conflicts: float = Field(default=1.0, ge=0)
    """No extra passes of shared memory."""
    registers: float = Field(default=1.0, ge=0)
    """No register pressure."""
    shared_memory: float = Field(default=1.0, ge=0)
    """No more static shared memory than every device has."""


class GatedWeights(Record):
    """The parts of the `gated` preset, all of them for what passed alone, except the timeout."""

    correctness: float = Field(default=0.5, ge=0, le=1)
    """Share of the planned checks (1, since it passed)."""
    performance: float = Field(default=0.4, ge=0, le=1)
    """Normalised speedup."""
    register_pressure: float = Field(default=0.05, ge=0, le=1)
    """Taken off."""
    shared_memory: float = Field(default=0.05, ge=0, le=1)
    """Taken off for overuse."""
    timeout: float = Field(default=0.1, ge=0, le=0.1)
    """Taken off for a kernel that never ends; the lowest reward there is."""
    warp_shuffle: float = Field(default=0.05, ge=0, le=1)
    """Bonus."""
    coalesced: float = Field(default=0.05, ge=0, le=1)
    """Bonus."""

    @model_validator(mode="after")
    def _passing_pays(self) -> GatedWeights:
        if self.correctness <= self.register_pressure + self.shared_memory:
            raise ValueError(
                "gated.correctness must outweigh register_pressure + shared_memory: passing pays"
            )
        return self


BUILT_IN = "built-in"
"""`reward.function` where nobody named one of their own."""


class RewardConfig(Record):
    """Which reward, and its scale."""

    function: str = Field(default=BUILT_IN, min_length=1)
    """`built-in`, or a reward of your own: `module:attribute`, or the name of an installed entry point of the
    group `coding_framework.rewards`. A class is given these settings, a function none."""
    options: dict[str, JsonValue] = Field(default_factory=dict)
    """Settings of a class of your own that have no name here."""
    preset: Literal["weighted", "gated", "mixed"] = "weighted"
    """`weighted`: five weighted parts; `gated`: nothing unless it compiles and passes; `mixed`: both."""
    gated_share: float = Field(default=0.5, ge=0, le=1)
    """Share of the gated preset in `mixed`."""
    target_speedup: float = Field(default=2.0, gt=1)
    """Speedup at which the performance part is full; more earns the same."""
    speedup_estimate: Literal["median", "lower"] = "median"
    """What counts once a speedup's interval excludes 1: its middle, or (cautious) its lower end."""
    weights: RewardWeights = RewardWeights()
    """Parts of `weighted`."""
    gated: GatedWeights = GatedWeights()
    """Parts of `gated`."""
    efficiency: EfficiencyWeights = EfficiencyWeights()
    """Counters behind the efficiency part."""
    quality: QualityWeights = QualityWeights()
    """Signs behind the quality part."""
    agents: dict[AgentRole, RewardWeights] = Field(default_factory=dict)
    """Weights of the `weighted` preset for single agents; the gate is the same for all."""

    @model_validator(mode="after")
    def _options_have_a_reader(self) -> RewardConfig:
        if self.options and self.function == BUILT_IN:
            raise ValueError("options are for a reward of your own: name it with reward.function")
        return self

    @property
    def is_built_in(self) -> bool:
        return self.function == BUILT_IN

    @property
    def title(self) -> str:
        """What a reader is told."""
        return f"{self.preset} preset" if self.is_built_in else self.function
