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
from coding_framework.cuda.executors.emulator.dtypes import Array
from coding_framework.cuda.executors.emulator.faults import KernelFault
from coding_framework.cuda.executors.emulator.launch_check import (
    check_launch,
    encode_arguments,
    in_blocks,
)
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
from coding_framework.cuda.executors.emulator.machine.turns import Part, Room, Turns
from coding_framework.cuda.executors.emulator.machine.undefined import Undefined
from coding_framework.cuda.executors.emulator.machine.waiting import Changes
from coding_framework.cuda.executors.emulator.occupancy import occupancy
from coding_framework.cuda.executors.emulator.program.code import Kernel, UnsupportedPtx
from coding_framework.cuda.executors.emulator.program.translate import Program, load_module
from coding_framework.cuda.executors.emulator.ptx import PtxSyntaxError
from coding_framework.cuda.executors.unwritten import Unwritten

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
    memory = DeviceMemory(request.buffers, program.module, request.variables)
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
        variables=memory.changed_variables(),
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
        self.request = request
        self.memory = memory
        self.budget = budget
        self.watch_all = watch_all
        self.unwritten = Unwritten(request.poison)
        """Of shared and local memory."""
        self.undefined = Undefined(is_strict=request.strict_memory_model)
        self.may_depend_on_order = False
        """Whether blocks of a launch so far could have handed data on, unseen by the race detection."""

    def launch(self, launch: ResolvedLaunch) -> LaunchCounters:
        """Run one launch to its end."""
        kernel, memory = self._kernel_of(launch), self.memory
        check_launch(launch, kernel, self.request.registers.get(kernel.name))
        under_way = _UnderWay(self, kernel, in_blocks(launch, kernel))
        memory.begin_launch()
        Turns(under_way, under_way.room()).run(under_way.chunks())
        counters = under_way.counters
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


class _UnderWay:
    """A launch whose blocks are begun chunk by chunk."""

    def __init__(self, run: _Run, kernel: Kernel, launch: ResolvedLaunch) -> None:
        self._run = run
        self._kernel = kernel
        self._launch = launch
        bases = {name: buffer.base for name, buffer in run.memory.by_name.items()}
        self._parameters = encode_arguments(launch, kernel, bases)
        self.changes = Changes()
        self.counters = LaunchCounters(
            kernel=launch.kernel,
            grid=launch.grid,
            block=launch.block,
            dynamic_shared_bytes=launch.shared_bytes,
            static_shared_bytes=kernel.static_shared_bytes,
        )
        self._stamps = Stamps()
        self._races: GlobalRaces | None = None
        if run.request.detect_races:
            self._races = GlobalRaces(kernel, launch, run.memory, watch_all=run.watch_all)

    def chunks(self) -> Iterator[Array]:
        """Numbers of blocks that may run in step."""
        at_once, shuffle = _blocks_at_once(self._launch, self._kernel), self._kernel.may_hand_over
        return chunks_in_order(prod(self._launch.grid), at_once, self._run.request.order, shuffle=shuffle)

    def room(self) -> Room:
        """What the modelled device holds of these blocks at a time; all, where none can wait for another."""
        kernel, num_blocks = self._kernel, prod(self._launch.grid)
        if not kernel.may_hand_over:
            return Room(num_blocks, num_blocks, "nothing")
        shared_bytes = kernel.static_shared_bytes + self._launch.shared_bytes
        registers = self._run.request.registers.get(kernel.name)
        held = occupancy(prod(self._launch.block), registers, shared_bytes, H200)
        return Room(num_blocks, held.blocks_per_sm * H200.num_sms, held.limited_by)

    def begin(self, numbers: Array) -> Part:
        """Some blocks with their memory, ready to run."""
        run, kernel = self._run, self._kernel
        geometry = Geometry(self._launch.grid, self._launch.block, numbers)
        clocks = _clocks(kernel, geometry)
        tally = Tally(kernel, geometry, is_on=run.request.counts_work)
        shared = self._shared_space(geometry, clocks, tally)
        local = LocalSpace(geometry.num_blocks * geometry.num_threads, kernel.local_bytes, run.unwritten)
        hand_over = HandOver(self._stamps, tally) if tally.follows_hand_over else None
        space = GlobalSpace(run.memory, self.counters, self._races, tally, hand_over)
        machine = Machine(self._parameters, space, shared, local, self.counters, self.changes, run.undefined)
        scheduler = Scheduler(kernel, machine, geometry, run.budget, self.changes, tally)
        return Part(scheduler, clocks, self._races)

    def _shared_space(
        self, geometry: Geometry, clocks: BlockEpochs | WarpClocks, tally: Tally
    ) -> SharedSpace:
        run, kernel = self._run, self._kernel
        num_bytes = kernel.static_shared_bytes
        if self._launch.shared_bytes:
            num_bytes = kernel.dynamic_shared_offset + self._launch.shared_bytes
        races = None
        if run.request.detect_races:
            races = SharedRaces(geometry.num_blocks, num_bytes, kernel.shared_granule, clocks, run.undefined)
        return SharedSpace(geometry.num_blocks, num_bytes, self.counters, races, run.unwritten, tally)


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
