"""The seam between the judge and whatever runs a kernel: a GPU, or PTX on the CPU.

An executor receives compiled code, fully resolved launches and the bytes of every buffer; it
answers with the buffers' final bytes and exact counters, or with a fault. It never sees expected
outputs, tolerances or seeds. Everything here is plain data that pickles quickly, because it crosses
a process boundary for every run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

import numpy as np
import numpy.typing as npt

Buffer = npt.NDArray[np.generic]
Triple = tuple[int, int, int]


class FaultKind(StrEnum):
    """What can go wrong while a kernel runs; each is the kernel's fault, not ours."""

    INVALID_LAUNCH = "invalid_launch"
    OUT_OF_BOUNDS = "out_of_bounds"
    MISALIGNED = "misaligned"
    DATA_RACE = "data_race"
    UNDEFINED = "undefined"
    DEADLOCK = "deadlock"
    TIMEOUT = "timeout"
    UNSUPPORTED = "unsupported"
    CRASHED = "crashed"


@dataclass(frozen=True)
class ExecutionFault:
    """One fault, in words for the agent, placed in the source where line info allows."""

    kind: FaultKind
    message: str
    source_line: int | None = None
    other_line: int | None = None
    """The second party of a race."""


@dataclass(frozen=True)
class BufferArgument:
    """A pointer to the start of a named buffer."""

    name: str


@dataclass(frozen=True)
class ResolvedLaunch:
    """A launch with every expression evaluated."""

    kernel: str
    grid: Triple
    block: Triple
    shared_bytes: int
    arguments: tuple[BufferArgument | int, ...]


@dataclass(frozen=True)
class BlockOrder:
    """One of the two orders that a secret stands for."""

    secret: int
    is_backwards: bool


@dataclass(frozen=True)
class ExecutionRequest:
    """Everything one run needs."""

    ptx: str
    launches: tuple[ResolvedLaunch, ...]
    buffers: dict[str, Buffer]
    """One-dimensional contiguous arrays; every one is copied before the run."""
    instruction_limit: int = 2_000_000_000
    """Lane instructions after which a run counts as endless."""
    detect_races: bool = True
    """Watch shared memory for conflicts between warps (slower)."""
    counts_work: bool = True
    """Count traffic, and what each warp and block does (slower): for runs whose time is asked for."""
    order: BlockOrder | None = None
    """How the emulator takes blocks, so that what relies on their order shows; None: by number."""
    registers: dict[str, int] = field(default_factory=dict)
    """Of a thread of each kernel, as ptxas says and the PTX does not: what fits on a device depends on it."""
    poison: int = 0x7FD5A1B7
    """A secret of this run: what memory holds that nobody wrote follows from it (`unwritten.py`)."""
    variables: dict[str, Buffer] = field(default_factory=dict)
    """`__device__` variables as an older run left them; the others begin as the source says."""
    strict_memory_model: bool = True
    """Whether what CUDA leaves undefined ends a run on the emulator although a card mostly lets it pass."""
    cubin: bytes = b""
    """The binary that a GPU loads; the emulator needs the PTX alone."""


@dataclass
class BlockWork:
    """For each count, what the block has that has most of it."""

    by_class: dict[str, int] = field(default_factory=dict)
    """Warp instructions by class."""
    instructions_without_moves: int = 0
    requests: int = 0
    """Warp-level global accesses."""
    sectors: int = 0
    """32-byte sectors these touched."""
    shared_passes: int = 0


@dataclass
class LaunchCounters:
    """Exact counts of one launch."""

    kernel: str
    grid: Triple
    block: Triple
    dynamic_shared_bytes: int
    static_shared_bytes: int = 0
    warp_instructions: int = 0
    lane_instructions: int = 0
    """Sum of active lanes over the warp instructions."""
    by_class: dict[str, int] = field(default_factory=dict)
    """Warp instructions by class: fp32, fp64, fp16, int, special, control, global, shared, local,
    atomic, barrier, shuffle, tensor, move, convert."""
    global_requests: int = 0
    """Warp-level global loads and stores."""
    global_sectors: int = 0
    """32-byte sectors these touched."""
    global_load_sectors: int = 0
    global_store_sectors: int = 0
    global_useful_bytes: int = 0
    """Bytes the lanes asked for."""
    unique_sectors: int = 0
    """Different sectors touched in the whole launch: the least traffic to DRAM."""
    shared_accesses: int = 0
    """Warp-level shared loads and stores."""
    shared_passes: int = 0
    """Passes they took; passes over accesses above 1 is bank conflicts."""
    atomics: int = 0
    """Warp-level atomic operations."""
    hottest_sector_atomics: int = 0
    """Those that touch the one sector of device memory which most of them touch."""
    max_warp_instructions: int = 0
    """Instructions of the longest-running warp."""
    path_clocks: float = 0.0
    """The critical path: clocks of the instructions of the slowest warp, by the H200's latencies. Who waits
    at a barrier goes on from the slowest of those that meet there."""
    path_sectors: int = 0
    """Sectors of global accesses, along such a path."""
    chain_clocks: float = 0.0
    """The critical path of the whole launch: who reads what another block wrote goes on from there."""
    chain_sectors: int = 0
    """Sectors of global accesses, along such a chain."""
    largest_block: BlockWork = field(default_factory=BlockWork)
    """What the busiest block has to do, whatever the others do."""


@dataclass(frozen=True)
class ExecutionOutcome:
    """What a run left behind."""

    fault: ExecutionFault | None
    buffers: dict[str, Buffer]
    counters: tuple[LaunchCounters, ...]
    poison: int | None = None
    """The request's: it tells what nobody wrote."""
    variables: dict[str, Buffer] = field(default_factory=dict)
    """Those `__device__` variables that are not as they began, where the executor can tell."""
    may_depend_on_order: bool = False
    """Whether blocks could have handed data on unseen: only runs in other orders tell if they waited."""
    noted: tuple[ExecutionFault, ...] = ()
    """What the emulator met that is no verdict."""
    idle_sources: tuple[int, ...] = ()
    """Lines of shuffles that read from a lane which takes no part, on the emulator."""


class Executor(Protocol):
    """Runs requests. Faults of the kernel come back as values; faults of ours are raised."""

    def run(self, request: ExecutionRequest, *, timeout_s: float) -> ExecutionOutcome: ...

    def run_many(
        self, requests: Iterable[ExecutionRequest], *, timeout_s: float
    ) -> Iterator[ExecutionOutcome]:
        """One after the other, up to the first fault; `timeout_s` is for each of them."""
        ...
