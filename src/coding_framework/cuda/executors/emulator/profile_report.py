"""Counters into a `ProfileReport`, with one sentence that says what to try next."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, prod
from typing import Literal, cast

from coding_framework.cuda.executors.base import LaunchCounters
from coding_framework.cuda.executors.emulator.device_model import DeviceModel
from coding_framework.cuda.executors.emulator.occupancy import Occupancy
from coding_framework.cuda.profiler import words
from coding_framework.records.measurement import ProfileReport

Limiter = Literal["memory", "latency", "compute", "shared memory", "launch"]
SECTOR = 32


def build_report(
    counters: Sequence[LaunchCounters],
    *,
    limiter: str,
    total_us: float,
    dram_bytes: int,
    held: Occupancy,
    device: DeviceModel,
) -> ProfileReport:
    """One report over all launches."""
    warps = sum(c.warp_instructions for c in counters)
    lanes = sum(c.lane_instructions for c in counters)
    requests = sum(c.global_requests for c in counters)
    sectors = sum(c.global_sectors for c in counters)
    useful = sum(c.global_useful_bytes for c in counters)
    accesses = sum(c.shared_accesses for c in counters)
    passes = sum(c.shared_passes for c in counters)
    report = ProfileReport(
        source="emulator",
        occupancy=min(1.0, held.share),
        warp_execution_efficiency=min(1.0, lanes / (32 * warps)) if warps else 0.0,
        sectors_per_request=sectors / requests if requests else 0.0,
        coalescing_efficiency=min(1.0, useful / (SECTOR * sectors)) if sectors else 1.0,
        bank_conflicts_per_access=max(0.0, passes / accesses - 1) if accesses else 0.0,
        dram_bytes=dram_bytes,
        dram_throughput_share=min(1.0, dram_bytes / (total_us * device.dram_peak_tb_per_s * 1e6)),
        instructions=warps,
        uses_warp_shuffle=any("shuffle" in c.by_class for c in counters),
        uses_shared_memory=accesses > 0,
        limiter=cast(Limiter, limiter),
        bottleneck="-",
    )
    return report.model_copy(update={"bottleneck": describe(report, counters, held, device)})


def describe(
    report: ProfileReport, counters: Sequence[LaunchCounters], held: Occupancy, device: DeviceModel
) -> str:
    """The limiter, the two counters that show it, and what to try."""
    if report.limiter == "memory":
        sectors, unique = (sum(c.global_sectors for c in counters), sum(c.unique_sectors for c in counters))
        return words.memory_words(
            sectors_per_request=report.sectors_per_request,
            coalescing_efficiency=report.coalescing_efficiency,
            sectors=sectors,
            times_moved=sectors / unique if unique else 0.0,
        )
    if report.limiter == "shared memory":
        return words.shared_memory_words(
            conflicts_per_access=report.bank_conflicts_per_access,
            accesses=sum(c.shared_accesses for c in counters),
        )
    if report.limiter == "compute":
        return _compute(report, counters)
    if report.limiter == "latency":
        return _latency(counters, held, device)
    return words.launch_words(launches=len(counters), instructions=report.instructions)


def _compute(report: ProfileReport, counters: Sequence[LaunchCounters]) -> str:
    totals: dict[str, int] = {}
    for launch in counters:
        for kind, number in launch.by_class.items():
            totals[kind] = totals.get(kind, 0) + number
    most = max(totals, key=lambda kind: totals[kind])
    share = totals[most] / max(1, sum(totals.values()))
    return words.compute_words(
        instructions=report.instructions,
        mostly=f"{share:.0%} of them {most}",
        warp_execution_efficiency=report.warp_execution_efficiency,
    )


def _latency(counters: Sequence[LaunchCounters], held: Occupancy, device: DeviceModel) -> str:
    longest = max(counters, key=lambda c: c.max_warp_instructions)
    blocks, per_block = prod(longest.grid), ceil(prod(longest.block) / 32)
    return words.latency_words(
        shown=(
            f"{blocks} blocks of {per_block} warps, the longest warp runs "
            f"{longest.max_warp_instructions} instructions"
        ),
        remedy=words.latency_remedy(
            blocks=blocks, num_sms=device.num_sms, occupancy=held.share, limited_by=held.limited_by
        ),
    )
