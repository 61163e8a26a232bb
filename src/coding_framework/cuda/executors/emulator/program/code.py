"""The nouns between PTX and the machine: flat code, basic blocks and the finished kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

import numpy as np
import numpy.typing as npt

from coding_framework.cuda.executors.emulator.ptx import Instruction, Variable
from coding_framework.cuda.executors.emulator.ptx.model import Demands

Name = tuple[int, str]
"""A register, label or variable of one inlined instance of a function."""


class UnsupportedPtx(Exception):
    """PTX that this emulator cannot run; becomes an UNSUPPORTED fault."""

    def __init__(self, what: str, line: int | None) -> None:
        super().__init__(what)
        self.line = line


@dataclass(frozen=True)
class FlatInstruction:
    """An instruction in one inlined instance."""

    instruction: Instruction
    instance: int


@dataclass(frozen=True)
class FlatLabel:
    name: Name


class Ending(Enum):
    """How a block ends."""

    JUMP = auto()
    BRANCH = auto()
    SWITCH = auto()
    EXIT = auto()
    BARRIER = auto()


@dataclass
class Block:
    """Straight-line code. Blocks are numbered in the order in which the scheduler prefers them."""

    instructions: list[FlatInstruction]
    ending: Ending
    targets: tuple[int, ...]
    """Successors: (taken, not taken) for a branch, (after,) for a barrier."""
    last: FlatInstruction | None = None
    """The branch, switch or barrier instruction itself."""
    index: int = 0
    live_in: frozenset[int] = frozenset()
    live_out: frozenset[int] = frozenset()
    line: int | None = None
    num_issued: int = 0
    """Instructions a warp issues when it runs this block, the last one included."""
    is_warp_sync: bool = False
    """Whether it begins with an instruction for which the named lanes must come together."""
    run: Callable[..., Any] = field(default=lambda *_: None)
    """`run(registers, machine, lanes)`: the generated code; returns what the ending needs."""
    members: Callable[..., Any] | None = None
    """`members(registers, machine, lanes)`: the member mask of a warp-sync block."""
    classes: dict[str, int] = field(default_factory=dict)
    """Instructions by class."""
    barrier_result: int | None = None
    """The register that a `bar.red` fills when the block's threads have met."""
    accesses_memory: bool = False
    """Whether it may read or write device memory."""
    polls: bool = False
    """Whether it looks at memory in a way that is not plain, as one does who waits."""
    quick_exit: bool = False
    """Whether it does nothing but end the thread."""


@dataclass(frozen=True)
class Kernel:
    """A kernel ready to run on any shape."""

    name: str
    parameters: tuple[Variable, ...]
    parameter_offsets: tuple[int, ...]
    parameter_bytes: int
    blocks: tuple[Block, ...]
    register_types: tuple[str, ...]
    static_shared_bytes: int
    dynamic_shared_offset: int
    local_bytes: int
    shared_granule: int
    """Bytes of the smallest shared-memory access: the unit of race detection."""
    global_granule: int
    """The same for device memory."""
    uses_fences: bool
    """Whether threads of different blocks may talk through memory on purpose."""
    may_hand_over: bool
    """Whether blocks could hand data on without a race of plain accesses: by fences, atomics, `volatile`."""
    may_wait: bool
    """Whether threads could wait for others by looking at memory."""
    orders_warps: bool
    """Whether warps are put in order by more than barriers of the whole block: by those for a number of
    threads, or by flags and locks in shared memory."""
    written_parameters: frozenset[int]
    """Parameters that may flow into the address of a store."""
    classes: tuple[str, ...]
    """The classes of its instructions."""
    issued: npt.NDArray[np.int64]
    """(blocks, classes): what a warp issues when it runs a block."""
    demands: Demands
