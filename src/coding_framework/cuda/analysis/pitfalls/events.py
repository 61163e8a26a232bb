"""What a traced block did, in order: the rules read these and nothing else.

An event keeps the threads that took part as a mask over the block's threads. `guards` names the
conditions around it whose outcome is not known; two events are comparable where one's guards include
the other's.
"""

from __future__ import annotations

from typing import NamedTuple

from coding_framework.cuda.analysis.pitfalls.scenario import Scenario
from coding_framework.cuda.analysis.pitfalls.values import Data, Lanes, Region

Guards = frozenset[tuple[int, int]]


class Access(NamedTuple):
    """A read, write or atomic update of memory."""

    kind: str
    """`read`, `write` or `atomic`."""
    region: Region
    address: Data
    """Bytes from the region's start; None if not known."""
    num_bytes: int
    """Size of the access; 0 if not known."""
    active: Lanes
    line: int
    text: str
    guards: Guards
    is_bounded: bool
    """A condition around it, or an early return before it, looks at a dimension or the block's place."""
    taint: int
    """What the address depends on."""
    loop_depth: int
    is_volatile: bool


class Barrier(NamedTuple):
    """A barrier of the block or of a warp."""

    scope: str
    line: int
    active: Lanes
    exited: Lanes
    """Threads that left the kernel before."""
    taint: int
    """What all conditions around it and early returns before it depend on."""
    doubt: int
    """What the unknown conditions around it depend on."""
    exit_doubt: int
    """What the unknown conditions of early returns depend on."""
    is_certain: bool
    """False for calls that only look like a barrier: they order memory, but nothing is said of them."""


class Shuffle(NamedTuple):
    """A `*_sync` intrinsic of a warp."""

    name: str
    is_full_mask: bool
    active: Lanes
    exited: Lanes
    taint: int
    doubt: int
    line: int


class Branch(NamedTuple):
    """An `if` whose outcome is known for each thread and not the same for all."""

    lanes: Lanes
    active: Lanes
    taint: int
    line: int
    text: str
    loop_depth: int


class Division(NamedTuple):
    """An integer quotient or remainder by a value known only at run time."""

    line: int
    text: str
    loop_depth: int


class LocalIndex(NamedTuple):
    """An array of a thread indexed by something that unrolling cannot make constant."""

    region: Region
    line: int
    text: str


class Escape(NamedTuple):
    """A region was handed to something that is not traced."""

    region: Region


Event = Access | Barrier | Shuffle | Branch | Division | LocalIndex | Escape


class Trace(NamedTuple):
    """One kernel traced under one scenario."""

    kernel: str
    kernel_line: int
    scenario: Scenario
    events: list[Event]
    is_complete: bool
    """False if the tracer gave up before the end."""
    took_a_side: bool
    """A branch was decided for the whole block by sizes or the block's place: others may go elsewhere."""
