"""The door: a request in, buffers and counters or a fault out. Pure; nothing outlives a call but a cache."""

from __future__ import annotations

import numpy as np

from coding_framework.cuda.executors.base import (
    ExecutionFault,
    ExecutionOutcome,
    ExecutionRequest,
    FaultKind,
    LaunchCounters,
    ResolvedLaunch,
)
from coding_framework.cuda.executors.emulator.faults import KernelFault
from coding_framework.cuda.executors.emulator.launch_check import check_launch, encode_arguments
from coding_framework.cuda.executors.emulator.machine.buffers import DeviceMemory
from coding_framework.cuda.executors.emulator.machine.geometry import Geometry
from coding_framework.cuda.executors.emulator.machine.global_races import GlobalRaces
from coding_framework.cuda.executors.emulator.machine.global_space import GlobalSpace
from coding_framework.cuda.executors.emulator.machine.local_space import LocalSpace
from coding_framework.cuda.executors.emulator.machine.machine import Machine
from coding_framework.cuda.executors.emulator.machine.scheduler import Budget, Scheduler
from coding_framework.cuda.executors.emulator.machine.shared_races import SharedRaces
from coding_framework.cuda.executors.emulator.machine.shared_space import SharedSpace
from coding_framework.cuda.executors.emulator.machine.tally import Tally
from coding_framework.cuda.executors.emulator.program.code import Kernel, UnsupportedPtx
from coding_framework.cuda.executors.emulator.program.translate import Program, load_module
from coding_framework.cuda.executors.emulator.ptx import PtxSyntaxError

CHUNK_LANES = 1 << 17
"""Lanes that run at once: arrays of half a megabyte stay in the cache, and overhead is small."""
CHUNK_BYTES = 1 << 26
"""Shared and local memory that a chunk may need."""


def execute(request: ExecutionRequest) -> ExecutionOutcome:
    """Run every launch in order. A kernel's fault is a value; buffers are then as the fault left them."""
    counters: list[LaunchCounters] = []
    try:
        program = load_module(request.ptx)
    except PtxSyntaxError as error:
        fault = ExecutionFault(FaultKind.UNSUPPORTED, f"PTX that the emulator cannot read: {error}")
        return ExecutionOutcome(fault, {n: b.copy() for n, b in request.buffers.items()}, ())
    memory = DeviceMemory(request.buffers, program.module)
    budget = Budget(request.instruction_limit)
    found: ExecutionFault | None = None
    try:
        with np.errstate(all="ignore"):
            for launch in request.launches:
                # One by one: the counts of launches before a fault are kept.
                counters.append(_run_launch(program, launch, memory, budget, request))  # noqa: PERF401
    except KernelFault as fault_raised:
        found = fault_raised.fault
    except UnsupportedPtx as unsupported:
        found = ExecutionFault(
            FaultKind.UNSUPPORTED, f"not supported by the emulator: {unsupported}", unsupported.line
        )
    buffers = {name: memory.by_name[name].content() for name in request.buffers}
    return ExecutionOutcome(found, buffers, tuple(counters), request.poison)


def _run_launch(
    program: Program, launch: ResolvedLaunch, memory: DeviceMemory, budget: Budget, request: ExecutionRequest
) -> LaunchCounters:
    if launch.kernel not in program.kernel_names:
        known = ", ".join(program.kernel_names) or "none"
        raise KernelFault(
            FaultKind.INVALID_LAUNCH,
            f"there is no kernel `{launch.kernel}` in the compiled code (kernels: {known}); is it "
            f'`extern "C" __global__`?',
        )
    kernel = program.kernel(launch.kernel)
    check_launch(launch, kernel)
    parameters = encode_arguments(
        launch, kernel, {name: buffer.base for name, buffer in memory.by_name.items()}
    )
    counters = LaunchCounters(
        kernel=launch.kernel,
        grid=launch.grid,
        block=launch.block,
        dynamic_shared_bytes=launch.shared_bytes,
        static_shared_bytes=kernel.static_shared_bytes,
    )
    memory.begin_launch()
    races = GlobalRaces(kernel, launch, memory) if request.detect_races else None
    num_blocks = launch.grid[0] * launch.grid[1] * launch.grid[2]
    at_once = _blocks_at_once(launch, kernel)
    starts = range(0, num_blocks, at_once)
    if request.upper_blocks_first:
        at_once = min(at_once, -(-num_blocks // 2))
        starts = range(0, num_blocks, at_once)[::-1]
    for first in starts:
        geometry = Geometry(launch.grid, launch.block, first, min(at_once, num_blocks - first))
        _run_chunk(kernel, launch, geometry, memory, parameters, counters, budget, races, request)
    counters.unique_sectors = memory.num_touched_sectors()
    counters.hottest_sector_atomics = memory.hottest_atomics()
    return counters


def _blocks_at_once(launch: ResolvedLaunch, kernel: Kernel) -> int:
    threads = launch.block[0] * launch.block[1] * launch.block[2]
    by_lanes = CHUNK_LANES // threads
    own_bytes = kernel.static_shared_bytes + launch.shared_bytes + kernel.local_bytes * threads
    return max(1, min(by_lanes, CHUNK_BYTES // max(1, own_bytes)))


def _run_chunk(
    kernel: Kernel,
    launch: ResolvedLaunch,
    geometry: Geometry,
    memory: DeviceMemory,
    parameters: bytes,
    counters: LaunchCounters,
    budget: Budget,
    races: GlobalRaces | None,
    request: ExecutionRequest,
) -> None:
    shared_bytes = (
        kernel.dynamic_shared_offset + launch.shared_bytes
        if launch.shared_bytes
        else kernel.static_shared_bytes
    )
    tracker = (
        SharedRaces(geometry.num_blocks, shared_bytes, kernel.shared_granule)
        if request.detect_races
        else None
    )
    if races is not None and tracker is not None:
        races.begin_chunk(tracker)
    tally = Tally(kernel, geometry, is_on=request.counts_work)
    machine = Machine(
        parameters,
        GlobalSpace(memory, counters, races, tally),
        SharedSpace(geometry.num_blocks, shared_bytes, counters, tracker, request.poison, tally),
        LocalSpace(geometry.num_blocks * geometry.num_threads, kernel.local_bytes, request.poison),
        counters,
    )
    Scheduler(kernel, machine, geometry, budget, tally).run()
    tally.add_to(counters)
