"""The door: a request in, buffers and counters or a fault out. Pure; nothing outlives a call but a cache."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import numpy as np

from coding_framework.cuda.executors.base import (
    ExecutionFault,
    ExecutionOutcome,
    ExecutionRequest,
    FaultKind,
    LaunchCounters,
    ResolvedLaunch,
)
from coding_framework.cuda.executors.emulator.device_model import H200
from coding_framework.cuda.executors.emulator.faults import KernelFault
from coding_framework.cuda.executors.emulator.launch_check import check_launch, encode_arguments
from coding_framework.cuda.executors.emulator.machine.barrier_clocks import BlockEpochs, WarpClocks
from coding_framework.cuda.executors.emulator.machine.block_order import chunks_in_order
from coding_framework.cuda.executors.emulator.machine.buffers import DeviceMemory
from coding_framework.cuda.executors.emulator.machine.geometry import WARP, Geometry
from coding_framework.cuda.executors.emulator.machine.global_races import GlobalRaces, WroteUnwatched
from coding_framework.cuda.executors.emulator.machine.global_space import GlobalSpace
from coding_framework.cuda.executors.emulator.machine.hand_over import HandOver, Stamps
from coding_framework.cuda.executors.emulator.machine.local_space import LocalSpace
from coding_framework.cuda.executors.emulator.machine.machine import Machine
from coding_framework.cuda.executors.emulator.machine.scheduler import Budget, Scheduler
from coding_framework.cuda.executors.emulator.machine.shared_races import SharedRaces
from coding_framework.cuda.executors.emulator.machine.shared_space import SharedSpace
from coding_framework.cuda.executors.emulator.machine.tally import Tally
from coding_framework.cuda.executors.emulator.machine.turns import Part, Turns
from coding_framework.cuda.executors.emulator.machine.undefined import Undefined
from coding_framework.cuda.executors.emulator.machine.waiting import Changes
from coding_framework.cuda.executors.emulator.occupancy import occupancy
from coding_framework.cuda.executors.emulator.program.code import Kernel, UnsupportedPtx
from coding_framework.cuda.executors.emulator.program.translate import Program, load_module
from coding_framework.cuda.executors.emulator.ptx import PtxSyntaxError

CHUNK_LANES = 1 << 17
"""Lanes that run at once: arrays of half a megabyte stay in the cache, and overhead is small."""
CHUNK_BYTES = 1 << 26
"""Shared and local memory that a chunk may need."""


def execute(request: ExecutionRequest) -> ExecutionOutcome:
    """Run every launch in order. A kernel's fault is a value; buffers are then as the fault left them."""
    try:
        program = load_module(request.ptx)
    except PtxSyntaxError as error:
        fault = ExecutionFault(FaultKind.UNSUPPORTED, f"PTX that the emulator cannot read: {error}")
        return ExecutionOutcome(fault, {n: b.copy() for n, b in request.buffers.items()}, ())
    try:
        return _run_all(program, request, watch_all=False)
    except WroteUnwatched:
        return _run_all(program, request, watch_all=True)


def _run_all(program: Program, request: ExecutionRequest, *, watch_all: bool) -> ExecutionOutcome:
    memory = DeviceMemory(request.buffers, program.module)
    run = _Run(program, request, memory, Budget(request.instruction_limit), watch_all)
    counters: list[LaunchCounters] = []
    found: ExecutionFault | None = None
    try:
        with np.errstate(all="ignore"):
            for launch in request.launches:
                # One by one: the counts of launches before a fault are kept.
                counters.append(run.launch(launch))  # noqa: PERF401
    except KernelFault as fault_raised:
        found = fault_raised.fault
    except UnsupportedPtx as unsupported:
        found = ExecutionFault(
            FaultKind.UNSUPPORTED, f"not supported by the emulator: {unsupported}", unsupported.line
        )
    buffers = {name: memory.by_name[name].content() for name in request.buffers}
    return ExecutionOutcome(
        fault=found,
        buffers=buffers,
        counters=tuple(counters),
        poison=request.poison,
        may_depend_on_order=run.may_depend_on_order,
        noted=run.undefined.noted,
        idle_sources=tuple(sorted(run.undefined.idle_sources)),
    )


class _Run:
    """One run of all launches on the same memory."""

    def __init__(
        self,
        program: Program,
        request: ExecutionRequest,
        memory: DeviceMemory,
        budget: Budget,
        watch_all: bool,
    ) -> None:
        self._program = program
        self._request = request
        self._memory = memory
        self._budget = budget
        self._watch_all = watch_all
        self.undefined = Undefined(is_strict=request.strict_memory_model)
        self.may_depend_on_order = False
        """Whether blocks of a launch so far could have handed data on, unseen by the race detection."""

    def launch(self, launch: ResolvedLaunch) -> LaunchCounters:
        """Run one launch to its end."""
        kernel, memory = self._kernel_of(launch), self._memory
        check_launch(launch, kernel)
        bases = {name: buffer.base for name, buffer in memory.by_name.items()}
        parameters = encode_arguments(launch, kernel, bases)
        counters = LaunchCounters(
            kernel=launch.kernel,
            grid=launch.grid,
            block=launch.block,
            dynamic_shared_bytes=launch.shared_bytes,
            static_shared_bytes=kernel.static_shared_bytes,
        )
        memory.begin_launch()
        changes = Changes()
        parts = self._parts(kernel, launch, parameters, counters, changes)
        Turns(counters, changes, _num_resident_blocks(launch, kernel)).run(parts)
        counters.unique_sectors = memory.num_touched_sectors()
        counters.hottest_sector_atomics = memory.hottest_atomics()
        if kernel.may_hand_over:
            self.may_depend_on_order |= memory.may_depend_on_order(uses_fences=kernel.uses_fences)
        return counters

    def _kernel_of(self, launch: ResolvedLaunch) -> Kernel:
        names = self._program.kernel_names
        if launch.kernel not in names:
            raise KernelFault(
                FaultKind.INVALID_LAUNCH,
                f"there is no kernel `{launch.kernel}` in the compiled code (kernels: "
                f'{", ".join(names) or "none"}); is it `extern "C" __global__`?',
            )
        return self._program.kernel(launch.kernel)

    def _parts(
        self,
        kernel: Kernel,
        launch: ResolvedLaunch,
        parameters: bytes,
        counters: LaunchCounters,
        changes: Changes,
    ) -> Iterator[Part]:
        """The chunks of a launch, each made when it is its turn."""
        races = None
        if self._request.detect_races:
            races = GlobalRaces(kernel, launch, self._memory, watch_all=self._watch_all)
        at_once = _blocks_at_once(launch, kernel)
        order, stamps = self._request.order, Stamps()
        for numbers in chunks_in_order(prod(launch.grid), at_once, order, shuffle=kernel.may_hand_over):
            geometry = Geometry(launch.grid, launch.block, numbers)
            clocks = _clocks(kernel, geometry)
            tally = Tally(kernel, geometry, is_on=self._request.counts_work)
            shared = self._shared_space(kernel, launch, geometry, clocks, counters, tally)
            local = LocalSpace(
                geometry.num_blocks * geometry.num_threads, kernel.local_bytes, self._request.poison
            )
            hand_over = HandOver(stamps, tally) if tally.follows_hand_over else None
            space = GlobalSpace(self._memory, counters, races, tally, hand_over)
            machine = Machine(parameters, space, shared, local, counters, changes, self.undefined)
            scheduler = Scheduler(kernel, machine, geometry, self._budget, changes, tally)
            yield Part(scheduler, clocks, races)

    def _shared_space(
        self,
        kernel: Kernel,
        launch: ResolvedLaunch,
        geometry: Geometry,
        clocks: BlockEpochs | WarpClocks,
        counters: LaunchCounters,
        tally: Tally,
    ) -> SharedSpace:
        num_bytes = kernel.static_shared_bytes
        if launch.shared_bytes:
            num_bytes = kernel.dynamic_shared_offset + launch.shared_bytes
        races = None
        if self._request.detect_races:
            races = SharedRaces(geometry.num_blocks, num_bytes, kernel.shared_granule, clocks, self.undefined)
        return SharedSpace(geometry.num_blocks, num_bytes, counters, races, self._request.poison, tally)


def _num_resident_blocks(launch: ResolvedLaunch, kernel: Kernel) -> int:
    """Blocks that the modelled device holds at a time, if none needs more registers than there are."""
    shared_bytes = kernel.static_shared_bytes + launch.shared_bytes
    return occupancy(prod(launch.block), None, shared_bytes, H200).blocks_per_sm * H200.num_sms


def _clocks(kernel: Kernel, geometry: Geometry) -> BlockEpochs | WarpClocks:
    if kernel.orders_warps:
        return WarpClocks(geometry.num_blocks, geometry.warps_per_block)
    return BlockEpochs(geometry.num_blocks, geometry.warps_per_block)


def _blocks_at_once(launch: ResolvedLaunch, kernel: Kernel) -> int:
    threads = launch.block[0] * launch.block[1] * launch.block[2]
    by_lanes = CHUNK_LANES // threads
    shared_bytes = kernel.static_shared_bytes + launch.shared_bytes
    if kernel.orders_warps:
        # Every place remembers when each warp read it.
        shared_bytes *= -(-threads // WARP)
    own_bytes = shared_bytes + kernel.local_bytes * threads
    return max(1, min(by_lanes, CHUNK_BYTES // max(1, own_bytes)))
