"""The two reward presets: pure functions from what was measured to named parts.

Guarantees: the same evaluations give the same reward; totals stay in [-0.1, 1]; among candidates
equal in all else a faster one never earns less; a candidate that does not pass earns nothing for
speed. A fault of the judge never gets here: it is raised, so it can never become a low reward.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from statistics import fmean

from coding_framework.config import RewardConfig
from coding_framework.records import Evaluation, KernelResources, RewardComponents, Verdict
from coding_framework.records.reward import clip_reward

__all__ = ["CUDAPerformanceReward", "RewardComponents"]

COMPILATION, CORRECTNESS, PERFORMANCE, EFFICIENCY, QUALITY = 0.30, 0.30, 0.25, 0.10, 0.05
IMPROVEMENT_BONUS = 0.05
IMPROVEMENT_RATIO = 1.02
"""A kernel must be this much faster than the best before to count as an improvement."""
REGISTERS_FREE, REGISTERS_MAX = 64, 255
SHARED_FREE_BYTES, SHARED_MAX_BYTES = 48 * 1024, 227 * 1024
COALESCED = 0.9
"""Share of useful bytes in the moved sectors from which access counts as coalesced."""


class CUDAPerformanceReward:
    """`reward(evaluation, earlier)`: what this attempt earns after the earlier ones."""

    def __init__(self, config: RewardConfig | None = None) -> None:
        self.config = config or RewardConfig()

    def __call__(self, evaluation: Evaluation, earlier: Sequence[Evaluation] = ()) -> RewardComponents:
        gated = self.config.preset == "gated"
        parts = self._gated(evaluation) if gated else self._weighted(evaluation, earlier)
        total = clip_reward(sum(parts.values()))
        return RewardComponents(
            preset=self.config.preset,
            parts=parts,
            total=total,
            explanation=_explain(evaluation, parts, total),
        )

    def _weighted(self, evaluation: Evaluation, earlier: Sequence[Evaluation]) -> dict[str, float]:
        if not evaluation.compiled:
            return {"compilation": 0.0}
        return {
            "compilation": COMPILATION,
            "correctness": CORRECTNESS * evaluation.pass_rate,
            "performance": PERFORMANCE * self.normalised_speedup(evaluation),
            "efficiency": EFFICIENCY * _efficiency(evaluation),
            "quality": QUALITY * _quality(evaluation),
            "improvement": _improvement(evaluation, earlier),
        }

    def _gated(self, evaluation: Evaluation) -> dict[str, float]:
        if evaluation.verdict is Verdict.TIMEOUT:
            return {"timeout": -0.1}
        if not evaluation.passed or evaluation.profile is None:
            return {"gate": 0.0}
        profile = evaluation.profile
        return {
            "correctness": 0.5 * evaluation.pass_rate,
            "performance": 0.4 * self.normalised_speedup(evaluation),
            "register_pressure": -0.05 * _register_pressure(evaluation),
            "shared_memory": -0.05 * _shared_overuse(evaluation),
            "warp_shuffle": 0.05 * profile.uses_warp_shuffle,
            "coalesced": 0.05 * (profile.coalescing_efficiency >= COALESCED),
        }

    def normalised_speedup(self, evaluation: Evaluation) -> float:
        """0 at 1× and below, 1 at the target and above, logarithmic between."""
        if evaluation.speedup is None:
            return 0.0
        return min(1.0, max(0.0, log(evaluation.speedup) / log(self.config.target_speedup)))


def _efficiency(evaluation: Evaluation) -> float:
    profile = evaluation.profile
    if profile is None:
        return 0.0
    return fmean((profile.occupancy, profile.warp_execution_efficiency, profile.coalescing_efficiency))


def _quality(evaluation: Evaluation) -> float:
    """Clean code: no warnings, no spills, no bank conflicts, registers within reason."""
    if evaluation.compilation is None or evaluation.profile is None:
        return 0.0
    spills = sum(r.spill_store_bytes + r.spill_load_bytes for r in evaluation.compilation.resources)
    return fmean(
        (
            1.0 / (1 + len(evaluation.compilation.warnings)),
            float(spills == 0),
            1.0 / (1 + evaluation.profile.bank_conflicts_per_access),
            1.0 - _register_pressure(evaluation),
        )
    )


def _improvement(evaluation: Evaluation, earlier: Sequence[Evaluation]) -> float:
    if not earlier or evaluation.speedup is None:
        return 0.0
    best = max((e.speedup for e in earlier if e.speedup is not None), default=None)
    improved = best is None or evaluation.speedup > best * IMPROVEMENT_RATIO
    return IMPROVEMENT_BONUS * improved


def _resources(evaluation: Evaluation) -> tuple[KernelResources, ...]:
    return evaluation.compilation.resources if evaluation.compilation else ()


def _register_pressure(evaluation: Evaluation) -> float:
    registers = max((r.registers for r in _resources(evaluation)), default=0)
    return min(1.0, max(0.0, (registers - REGISTERS_FREE) / (REGISTERS_MAX - REGISTERS_FREE)))


def _shared_overuse(evaluation: Evaluation) -> float:
    used = max((r.static_shared_bytes for r in _resources(evaluation)), default=0)
    return min(1.0, max(0.0, (used - SHARED_FREE_BYTES) / (SHARED_MAX_BYTES - SHARED_FREE_BYTES)))


def _explain(evaluation: Evaluation, parts: dict[str, float], total: float) -> str:
    summed = " ".join(f"{value:+.3f} {name}" for name, value in parts.items() if value)
    reason = evaluation.verdict.value.replace("_", " ")
    if evaluation.timing is not None:
        reason += (
            f", {evaluation.timing.speedup:.2f}× ({evaluation.timing.kind}) the {evaluation.timing.reference}"
        )
    return f"{total:.3f} = {summed or 'nothing earned'} ({reason})"
