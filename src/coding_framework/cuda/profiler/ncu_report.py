"""Counters of all launches of a candidate into one `ProfileReport`.

Times, bytes, requests and instructions are added; shares are weighted by the launches' times, lanes
and stalls by their instructions. The theoretical occupancy is that of the longest launch.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Literal

from coding_framework.cuda.profiler import ncu_metrics as m
from coding_framework.cuda.profiler import words
from coding_framework.cuda.profiler.ncu_metrics import LaunchMetrics
from coding_framework.records import ProfileReport, Roofline

Limiter = Literal["memory", "latency", "compute", "shared memory", "launch"]
SECTOR_BYTES = 32
WARP = 32
NEAR_A_ROOF = 0.6
"""Nsight Compute's own rule of thumb: below 60 % of both roofs, latency is the issue."""
LAUNCH_US = 2.5
"""A kernel shorter than this takes less time than launching it does (some 4 us on an H200)."""
MANY_CONFLICTS = 0.5
_MEMORY_STALLS = ("long_scoreboard", "lg_throttle")
_SHARED_STALLS = ("short_scoreboard", "mio_throttle")


def build_report(launches: Sequence[LaunchMetrics], *, uses_warp_shuffle: bool) -> ProfileReport:
    """One report over all launches; they hold at least the required counters."""
    instructions = _total(launches, m.INSTRUCTIONS)
    requests = _total(launches, m.LOAD_REQUESTS) + _total(launches, m.STORE_REQUESTS)
    sectors = _total(launches, m.LOAD_SECTORS) + _total(launches, m.STORE_SECTORS)
    accesses = _total(launches, m.SHARED_INSTRUCTIONS)
    longest = max(launches, key=lambda launch: launch.get(m.TIME))
    limiter = _limiter(launches)
    report = ProfileReport(
        source="ncu",
        occupancy=_share(longest.get(m.THEORETICAL_OCCUPANCY)),
        warp_execution_efficiency=min(1.0, _mean(launches, m.LANES, m.INSTRUCTIONS) / WARP),
        sectors_per_request=sectors / requests if requests else 0.0,
        coalescing_efficiency=_coalescing(launches),
        bank_conflicts_per_access=_total(launches, m.SHARED_CONFLICTS) / accesses if accesses else 0.0,
        dram_bytes=int(_total(launches, m.DRAM_READ) + _total(launches, m.DRAM_WRITTEN)),
        dram_throughput_share=_share(_mean(launches, m.DRAM_SHARE, m.TIME)),
        instructions=int(instructions),
        uses_warp_shuffle=uses_warp_shuffle,
        uses_shared_memory=accesses > 0,
        limiter=limiter,
        bottleneck="-",
        achieved_occupancy=_share_if_counted(launches, m.ACHIEVED_OCCUPANCY),
        l2_throughput_share=_share_if_counted(launches, m.L2_SHARE),
        stall_reasons=stall_shares(launches),
        roofline=roofline(launches),
    )
    return report.model_copy(update={"bottleneck": _describe(report, launches, longest)})


def roofline(launches: Sequence[LaunchMetrics]) -> Roofline:
    """Which of the two roofs is near."""
    memory, compute = _roofs(launches)
    if max(memory, compute) < NEAR_A_ROOF:
        return "neither"
    return "memory" if memory >= compute else "compute"


def stall_shares(launches: Sequence[LaunchMetrics]) -> dict[str, float]:
    """Reasons for waiting as shares of all waiting, largest first; empty where none was counted."""
    counted = {reason: _mean(launches, m.stall_metric(reason), m.INSTRUCTIONS) for reason in m.STALLS}
    total = sum(counted.values())
    largest_first = sorted(counted.items(), key=lambda item: -item[1])
    return {reason: value / total for reason, value in largest_first if value > 0}


def _roofs(launches: Sequence[LaunchMetrics]) -> tuple[float, float]:
    memory = max(_mean(launches, name, m.TIME) for name in (m.DRAM_SHARE, m.L2_SHARE))
    compute = max(_mean(launches, name, m.TIME) for name in (m.SM_SHARE, m.TENSOR_SHARE))
    return _share(memory), _share(compute)


def _limiter(launches: Sequence[LaunchMetrics]) -> Limiter:
    if _total(launches, m.TIME) / 1e3 < LAUNCH_US * len(launches):
        return "launch"
    if _shared_memory_is_busy(launches):
        return "shared memory"
    roof = roofline(launches)
    if roof == "neither":
        return "memory" if _waits_for_scattered_memory(launches) else "latency"
    return roof


def _shared_memory_is_busy(launches: Sequence[LaunchMetrics]) -> bool:
    accesses = _total(launches, m.SHARED_INSTRUCTIONS)
    if not accesses:
        return False
    conflicts = _total(launches, m.SHARED_CONFLICTS) / accesses
    busy = _share(_mean(launches, m.SHARED_SHARE, m.TIME)) >= NEAR_A_ROOF
    waits_for_it = next(iter(stall_shares(launches)), "") in _SHARED_STALLS
    return conflicts > MANY_CONFLICTS and (busy or waits_for_it)


def _waits_for_scattered_memory(launches: Sequence[LaunchMetrics]) -> bool:
    """Far below both roofs because most of what is moved is not used: the access is at fault."""
    waits_for_it = next(iter(stall_shares(launches)), "") in _MEMORY_STALLS
    return waits_for_it and _coalescing(launches) < words.POOR_COALESCING


def _describe(report: ProfileReport, launches: Sequence[LaunchMetrics], longest: LaunchMetrics) -> str:
    if report.limiter == "memory":
        sectors = _total(launches, m.LOAD_SECTORS) + _total(launches, m.STORE_SECTORS)
        return words.memory_words(
            sectors_per_request=report.sectors_per_request,
            coalescing_efficiency=report.coalescing_efficiency,
            sectors=int(sectors),
            times_moved=sectors * SECTOR_BYTES / report.dram_bytes if report.dram_bytes else 0.0,
        )
    if report.limiter == "shared memory":
        return words.shared_memory_words(
            conflicts_per_access=report.bank_conflicts_per_access,
            accesses=int(_total(launches, m.SHARED_INSTRUCTIONS)),
        )
    if report.limiter == "compute":
        return words.compute_words(
            instructions=report.instructions,
            mostly=f"the arithmetic units at {_roofs(launches)[1]:.0%} of their peak",
            warp_execution_efficiency=report.warp_execution_efficiency,
        )
    if report.limiter == "latency":
        return _latency(report, longest)
    return words.launch_words(launches=len(launches), instructions=report.instructions)


def _latency(report: ProfileReport, longest: LaunchMetrics) -> str:
    blocks = int(longest.get(m.GRID_SIZE))
    shown = f"{blocks} blocks of {ceil(longest.get(m.BLOCK_SIZE) / WARP)} warps"
    if report.stall_reasons:
        reason, share = next(iter(report.stall_reasons.items()))
        shown += f", and {share:.0%} of the waiting is for {m.STALLS[reason]}"
    remedy = words.latency_remedy(
        blocks=blocks,
        num_sms=int(longest.get(m.NUM_SMS)),
        occupancy=report.occupancy,
        limited_by=_limited_by(longest),
    )
    return words.latency_words(shown=shown, remedy=remedy)


def _limited_by(launch: LaunchMetrics) -> str:
    known = {what: launch.values[name] for what, name in m.LIMITS.items() if name in launch.values}
    return min(known, key=lambda what: known[what]) if known else "its resources"


def _coalescing(launches: Sequence[LaunchMetrics]) -> float:
    """Useful bytes over bytes in the sectors, loads and stores together; 1 where nothing was moved."""
    pairs = ((m.LOAD_SECTORS, m.LOAD_BYTES_PER_SECTOR), (m.STORE_SECTORS, m.STORE_BYTES_PER_SECTOR))
    moved = useful = 0.0
    for launch in launches:
        for sectors, bytes_per_sector in pairs:
            if bytes_per_sector in launch.values:
                moved += launch.get(sectors) * SECTOR_BYTES
                useful += launch.get(sectors) * launch.get(bytes_per_sector)
    return min(1.0, useful / moved) if moved else 1.0


def _total(launches: Sequence[LaunchMetrics], name: str) -> float:
    return sum(launch.get(name) for launch in launches)


def _mean(launches: Sequence[LaunchMetrics], name: str, weight: str) -> float:
    total = _total(launches, weight)
    return sum(launch.get(name) * launch.get(weight) for launch in launches) / total if total else 0.0


def _share(percent: float) -> float:
    return min(1.0, max(0.0, percent / 100))


def _share_if_counted(launches: Sequence[LaunchMetrics], name: str) -> float | None:
    if not all(name in launch.values for launch in launches):
        return None
    return _share(_mean(launches, name, m.TIME))
