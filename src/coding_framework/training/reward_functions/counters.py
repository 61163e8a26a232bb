"""What the compiler and the profile say about a kernel, each as a number from 0 (bad) to 1 (good).

A counter that is not there gives no term at all: neither reward nor penalty.
"""

from __future__ import annotations

from collections.abc import Iterator

from coding_framework.records import CompilationResult, Evaluation, KernelResources, ProfileReport

REGISTERS_FREE, REGISTERS_MAX = 64, 255
"""With 64 registers 1,024 threads are resident on an SM, enough to hide latency; 255 is the most there is."""
SHARED_FREE_BYTES, SHARED_MAX_BYTES = 48 * 1024, 227 * 1024
"""What a block has on every device, and the most of the largest."""
COALESCED = 0.9
"""Share of useful bytes in the moved sectors from which access counts as coalesced."""
BANDWIDTH_ROOF = 0.6
"""Share of the DRAM's peak from which a kernel is under the memory roof: the term is full."""

EFFICIENCY_TERMS = ("occupancy", "warp_efficiency", "coalescing", "bandwidth")
QUALITY_TERMS = ("warnings", "spills", "bank_conflicts", "registers", "shared_memory")


def efficiency_terms(evaluation: Evaluation) -> dict[str, float]:
    """How well the device is used; empty without a profile."""
    return dict(_from_profile(evaluation.profile)) if evaluation.profile else {}


def quality_terms(evaluation: Evaluation) -> dict[str, float]:
    """How clean the kernel is; only what was counted."""
    terms: dict[str, float] = {}
    if evaluation.compilation is not None:
        terms.update(_from_compilation(evaluation.compilation))
    if evaluation.profile is not None:
        terms["bank_conflicts"] = 1.0 / (1 + evaluation.profile.bank_conflicts_per_access)
    return {name: terms[name] for name in QUALITY_TERMS if name in terms}


def register_pressure(resources: tuple[KernelResources, ...]) -> float:
    """0 up to 64 registers a thread, 1 at the most there is."""
    used = max(kernel.registers for kernel in resources)
    return _between(used, REGISTERS_FREE, REGISTERS_MAX)


def shared_overuse(resources: tuple[KernelResources, ...]) -> float:
    """0 up to what every device gives a block, 1 at the most of the largest."""
    used = max(kernel.static_shared_bytes for kernel in resources)
    return _between(used, SHARED_FREE_BYTES, SHARED_MAX_BYTES)


def _from_profile(profile: ProfileReport) -> Iterator[tuple[str, float]]:
    achieved = profile.achieved_occupancy
    yield "occupancy", profile.occupancy if achieved is None else achieved
    yield "warp_efficiency", profile.warp_execution_efficiency
    yield "coalescing", profile.coalescing_efficiency
    # Traffic alone would pay for moving bytes that nobody reads.
    useful = profile.dram_throughput_share * profile.coalescing_efficiency
    yield "bandwidth", min(1.0, useful / BANDWIDTH_ROOF)


def _from_compilation(compilation: CompilationResult) -> Iterator[tuple[str, float]]:
    yield "warnings", 1.0 / (1 + len(compilation.warnings))
    if compilation.resources:
        spilled = sum(kernel.spill_store_bytes + kernel.spill_load_bytes for kernel in compilation.resources)
        yield "spills", float(spilled == 0)
        yield "registers", 1.0 - register_pressure(compilation.resources)
        yield "shared_memory", 1.0 - shared_overuse(compilation.resources)


def _between(value: float, low: float, high: float) -> float:
    return min(1.0, max(0.0, (value - low) / (high - low)))
