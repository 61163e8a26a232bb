"""A first model of time from exact counts. What it returns is modelled, never measured.

Each resource of the device gives a lower bound: DRAM by the different sectors touched, L2 and L1 by
all sectors, the arithmetic units by class, shared memory by passes, and latency by the longest way
through a block times the waves of blocks. The largest bound decides; a small share of the others is
added because overlap is never perfect, which also keeps every improvement visible.

Guaranteed: fewer sectors, passes or instructions, or more resident blocks, never make a kernel
slower; warps, blocks and lanes that idle beside those that work never make it faster, because an SM
has at least the work of the largest block, and a block takes at least as long as its slowest warp.
Spilling registers never makes it faster either: what was spilled counts as if it were held, and every
spill that stands in the code as one access to local memory, however often a loop comes by.
Not modelled: caches beyond reuse within a launch's footprint, which warp's sectors come from DRAM,
traffic of local memory, atomics of one warp's lanes on one address and those in shared memory,
instruction-level parallelism, the many instructions of an integer or double division, clocks that
change, and what ptxas does to PTX.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, prod

from coding_framework.cuda.executors.base import LaunchCounters
from coding_framework.cuda.executors.emulator.device_model import H200, DeviceModel
from coding_framework.cuda.executors.emulator.occupancy import Occupancy, occupancy
from coding_framework.cuda.executors.emulator.profile_report import build_report
from coding_framework.records.compilation import MAX_REGISTERS, KernelResources
from coding_framework.records.measurement import ProfileReport

IMPERFECT_OVERLAP = 0.1
"""Share of the bounds that do not decide which is added nevertheless."""
LAUNCH_BOUND = 0.25
"""A kernel that runs for less than this share of its launch time is bound by the launch."""
MOVE_COST = 0.25
"""PTX moves mostly vanish in ptxas; one in four is taken to survive."""
SECTOR = 32
REGISTER = 4


@dataclass(frozen=True)
class TimeEstimate:
    """The modelled time of one launch and the bounds it is made of, in microseconds."""

    total_us: float
    launch_us: float
    dram_us: float
    cache_us: float
    """L2 and L1."""
    compute_us: float
    shared_us: float
    latency_us: float
    dram_bytes: int
    occupancy: Occupancy
    limiter: str
    """memory, compute, shared memory, latency or launch."""


def modelled_time_us(
    counters: LaunchCounters, resources: KernelResources | None, device: DeviceModel = H200
) -> TimeEstimate:
    """The modelled time of one launch."""
    threads, num_blocks = prod(counters.block), prod(counters.grid)
    shared_bytes = counters.static_shared_bytes + counters.dynamic_shared_bytes
    held = occupancy(threads, resources.registers if resources else None, shared_bytes, device)
    unspilled = occupancy(threads, _registers(resources), shared_bytes, device)
    counters = _with_spills(counters, resources, device)
    moved = _dram_bytes(counters, device)
    even = ceil(num_blocks / device.num_sms) / num_blocks
    """Share of all work that the busiest SM has if all blocks are alike."""
    passes = max(counters.shared_passes * even, counters.largest_block.shared_passes)
    bounds = {
        "memory": max(moved / (device.dram_tb_per_s * 1e6), _cache_us(counters, even, device))
        + _request_us(counters, even, device),
        "compute": _compute_us(counters, even, device),
        "shared memory": _clocks(passes, device),
        "latency": _latency_us(counters, unspilled, num_blocks, threads, device),
    }
    slowest = max(bounds, key=lambda name: bounds[name])
    rest = sum(bounds.values()) - bounds[slowest]
    running = bounds[slowest] + IMPERFECT_OVERLAP * rest
    return TimeEstimate(
        total_us=device.launch_us + running,
        launch_us=device.launch_us,
        dram_us=moved / (device.dram_tb_per_s * 1e6),
        cache_us=_cache_us(counters, even, device),
        compute_us=bounds["compute"],
        shared_us=bounds["shared memory"],
        latency_us=bounds["latency"],
        dram_bytes=moved,
        occupancy=held,
        limiter="launch" if running < LAUNCH_BOUND * device.launch_us else slowest,
    )


def _registers(resources: KernelResources | None) -> int | None:
    """What a thread holds, the values that were spilled included: a lower limit is worth nothing.

    The frame may hold arrays too; of spilled values there are no more than were stored.
    """
    if resources is None:
        return None
    spilled = min(resources.local_bytes, resources.spill_store_bytes) // REGISTER
    return max(resources.registers, min(resources.registers + spilled, MAX_REGISTERS))


def _with_spills(
    counters: LaunchCounters, resources: KernelResources | None, device: DeviceModel
) -> LaunchCounters:
    """The counts with the accesses to local memory that ptxas put in; the PTX knows none of them."""
    if resources is None or not resources.spill_store_bytes + resources.spill_load_bytes:
        return counters
    loads, stores = resources.spill_load_bytes // REGISTER, resources.spill_store_bytes // REGISTER
    of_block, largest = (loads + stores) * ceil(prod(counters.block) / 32), counters.largest_block
    waited = loads * device.latency_of("local")
    return replace(
        counters,
        by_class=_more_local(counters.by_class, of_block * prod(counters.grid)),
        largest_block=replace(
            largest,
            by_class=_more_local(largest.by_class, of_block),
            instructions_without_moves=largest.instructions_without_moves + of_block,
        ),
        path_clocks=counters.path_clocks + waited,
        chain_clocks=counters.chain_clocks + waited,
    )


def _more_local(by_class: dict[str, int], accesses: int) -> dict[str, int]:
    return {**by_class, "local": by_class.get("local", 0) + accesses}


def _clocks(clocks: float, device: DeviceModel) -> float:
    return clocks / (device.clock_ghz * 1e3)


def _dram_bytes(counters: LaunchCounters, device: DeviceModel) -> int:
    """Every touched sector once; what does not fit L2 is fetched again in part."""
    unique = counters.unique_sectors * SECTOR
    again = max(0, counters.global_sectors - counters.unique_sectors) * SECTOR
    spilled = max(0.0, 1.0 - device.l2_bytes / unique) if unique else 0.0
    return int(unique + again * spilled)


def _cache_us(counters: LaunchCounters, even: float, device: DeviceModel) -> float:
    total, largest = counters.global_sectors * SECTOR, counters.largest_block
    l2 = total / (device.l2_tb_per_s * 1e6)
    moved = max(total * even, largest.sectors * SECTOR)
    l1 = max(moved / device.l1_bytes_per_clock, counters.global_requests * even, largest.requests)
    in_turn = counters.hottest_sector_atomics * device.sector_atomic_clocks
    return max(l2, _clocks(l1, device), _clocks(in_turn, device))


def _request_us(counters: LaunchCounters, even: float, device: DeviceModel) -> float:
    """Accesses that bring new sectors; one of a whole warp brings four of them at least."""
    bringing = min(counters.global_requests, counters.unique_sectors / 4)
    share = max(even, counters.largest_block.sectors / max(1, counters.global_sectors))
    return _clocks(bringing * device.request_clocks * share, device)


def _compute_us(counters: LaunchCounters, even: float, device: DeviceModel) -> float:
    """The busiest unit, or the issue slots, of the SM that has most to do."""
    total, largest = counters.by_class, counters.largest_block.by_class
    working = sum(number for kind, number in total.items() if kind != "move")
    issued = max(working * even, counters.largest_block.instructions_without_moves)
    issued += max(total.get("move", 0) * even, largest.get("move", 0)) * MOVE_COST
    clocks = issued / device.issue_per_clock
    for kind, lanes in device.lanes_per_clock.items():
        served = max(total.get(kind, 0) * even, largest.get(kind, 0))
        clocks = max(clocks, served * 32 / lanes)
    return _clocks(clocks, device)


def _latency_us(
    counters: LaunchCounters, held: Occupancy, num_blocks: int, threads: int, device: DeviceModel
) -> float:
    """Waves of blocks, each as long as the longest way through one; or blocks that wait for each other."""
    warps = num_blocks * ceil(threads / 32)
    clocks = sum(number * device.latency_of(kind) for kind, number in counters.by_class.items())
    new = counters.unique_sectors / max(1, counters.global_sectors)
    """Share of the sectors that come from DRAM; whose they are is not known, so it is the same for all."""
    for_sector = device.sector_clocks + new * device.new_sector_clocks
    longest = max(counters.path_clocks, clocks / warps)
    longest += max(counters.path_sectors, counters.global_sectors / warps) * for_sector
    waves = ceil(num_blocks / (held.blocks_per_sm * device.num_sms))
    chain = counters.chain_clocks + counters.chain_sectors * for_sector
    return _clocks(max(longest * waves, chain), device)


def profile_from_counters(
    counters: Sequence[LaunchCounters], resources: Sequence[KernelResources], device: DeviceModel = H200
) -> tuple[float, ProfileReport]:
    """The modelled time of all launches together, and where it goes."""
    if not counters:
        raise ValueError("a profile needs at least one launch")
    by_kernel = {r.kernel: r for r in resources}
    estimates = [modelled_time_us(c, by_kernel.get(c.kernel), device) for c in counters]
    total = sum(e.total_us for e in estimates)
    slowest = max(range(len(estimates)), key=lambda i: estimates[i].total_us)
    terms = {
        "memory": sum(max(e.dram_us, e.cache_us) for e in estimates),
        "compute": sum(e.compute_us for e in estimates),
        "shared memory": sum(e.shared_us for e in estimates),
        "latency": sum(e.latency_us for e in estimates),
    }
    limiter = max(terms, key=lambda name: terms[name])
    if terms[limiter] < LAUNCH_BOUND * sum(e.launch_us for e in estimates):
        limiter = "launch"
    report = build_report(
        counters,
        limiter=limiter,
        total_us=total,
        dram_bytes=sum(e.dram_bytes for e in estimates),
        held=estimates[slowest].occupancy,
        device=device,
    )
    return total, report
