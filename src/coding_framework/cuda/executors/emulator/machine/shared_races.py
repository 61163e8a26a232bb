"""Data races in shared memory, between threads of one block that nothing puts in order.

Lanes that run in step would hide a missing barrier, so conflicts are found by bookkeeping: each
granule remembers its last writer, its last reader (and whether several lanes and several warps read it; in
kernels whose warps do not only meet at barriers of the whole block, the last read of every warp) and its
last atomic, with the clock of its warp. While every block makes the same accesses between the same
barriers, one row of tags stands for all blocks.

Flags and locks: what a warp writes by `volatile` or an atomic behind a fence hands on what it did before
the fence to whoever reads that so. Such accesses do not race with each other.

Guaranteed: write→read, read→write and write→write (of different values) between warps of a block
without a barrier that both pass between them, or between lanes of a warp without a `__syncwarp`, and any
access to a place that a copy by `cp.async` is on its way to, whoever began it. Not found: two copies of one
warp to one place that are both waited for before anyone looks, a write over what lanes of the same warp
have read if a `__syncwarp` of others, or a read by another warp, came between, and accesses that are
ordered by their own marks (`acquire`, `release`, `relaxed`).
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from coding_framework.cuda.executors.base import FaultKind
from coding_framework.cuda.executors.emulator.dtypes import Array, Value
from coding_framework.cuda.executors.emulator.faults import KernelFault
from coding_framework.cuda.executors.emulator.machine.barrier_clocks import (
    BlockEpochs,
    WarpClocks,
    raise_rows,
)
from coding_framework.cuda.executors.emulator.machine.lanes import Lanes
from coding_framework.cuda.executors.emulator.machine.undefined import Undefined
from coding_framework.cuda.executors.emulator.program.access import Access

CLOCK_BIT, LINE_BIT, WARP_BIT = 36, 12, 5
MANY_WARPS, MANY_LANES = 1 << 11, 1 << 10
THREAD_MASK, WARP_MASK, LINE_MASK = 0x3FF, 0x3E0, 0xFFFFFF
_TWO_WRITES = ("writes", "writes a different value to")


class SharedRaces:
    """Tags of all granules: clock of the thread's warp, line, flags and thread in one int64."""

    def __init__(
        self,
        num_blocks: int,
        num_bytes: int,
        granule: int,
        clocks: BlockEpochs | WarpClocks,
        undefined: Undefined,
    ) -> None:
        self._num_blocks = num_blocks
        self._granule = granule
        self.clocks = clocks
        self._undefined = undefined
        size = -(-max(num_bytes, 1) // granule) + 16
        self._written = np.zeros((1, size), dtype=np.int64)
        self._read = np.zeros((1, size), dtype=np.int64)
        self._atomic = np.zeros((1, size), dtype=np.int64)
        self._copier: Array | None = None
        """Who began the latest copy to a granule; None until there is one."""
        self._on_their_way: Array = np.zeros((1, 0), dtype=np.int64)
        """Copies to a granule that are not there yet."""
        self._reads: Array = np.zeros((2, 0, 0), dtype=np.int32)
        """By granule, the clock of every warp's last read, plain or not; only where clocks are by warp."""
        self._handed_on: Array = np.zeros((0, 0), dtype=np.int32)
        """By granule, the clocks that a flag hands on to who reads it; likewise."""
        if isinstance(clocks, WarpClocks):
            self._split()
            self._reads = np.zeros((2, self._written.size, clocks.num_warps), dtype=np.int32)
            self._handed_on = np.zeros_like(self._reads[0])

    def pass_all(self, rows: Array | None) -> None:
        """A barrier was passed by all threads of all blocks, or of some."""
        if rows is not None:
            self._split()
        self.clocks.pass_all(rows)

    def sync_lanes(self, lanes: Lanes, members: Value) -> None:
        """A `__syncwarp` was passed."""
        self.clocks.sync_lanes(lanes, members)
        if not self.clocks.are_alike:
            self._split()

    def fence(self, lanes: Lanes) -> None:
        if isinstance(self.clocks, WarpClocks):
            self.clocks.fence(lanes)

    def _split(self) -> None:
        """From one row for all blocks to a row for each."""
        if self._written.shape[0] == 1 and self._num_blocks > 1:
            rows = self._num_blocks
            self._written = np.repeat(self._written, rows, axis=0)
            self._read = np.repeat(self._read, rows, axis=0)
            self._atomic = np.repeat(self._atomic, rows, axis=0)
            if self._copier is not None:
                self._copier = np.repeat(self._copier, rows, axis=0)
                self._on_their_way = np.repeat(self._on_their_way, rows, axis=0)

    def _places(self, lanes: Lanes, address: Value, access: Access) -> tuple[Array, Array, Array, Array]:
        """Flat granule numbers, threads, clocks and active-lane numbers of an access."""
        base = lanes.base
        alike = not base.is_list and base.shape[0] == self._num_blocks
        alike = alike and (address.ndim == 0 or address.shape[0] == 1)
        alike = alike and (lanes.mask is None or lanes.mask.shape[0] == 1)
        if alike and self._written.shape[0] == 1:
            threads, row, shape = base.thread, np.zeros((1, 1), dtype=np.int64), (1, base.shape[1])
        else:
            self._split()
            threads, row, shape = base.thread, base.block, base.shape
        mask = np.broadcast_to(True if lanes.mask is None else lanes.mask, np.broadcast_shapes(shape))
        if lanes.mask is not None and lanes.mask.shape[0] > 1:
            mask = lanes.full_mask
        size = self._written.shape[1]
        place = np.broadcast_to(row * size + address // self._granule, mask.shape)[mask]
        thread = np.broadcast_to(threads, mask.shape)[mask]
        clock = self.clocks.now(place // size, thread >> WARP_BIT)
        lane = np.flatnonzero(mask)
        return place, thread, clock, lane

    def _spread(self, parts: tuple[Array, ...], access: Access) -> tuple[Array, ...]:
        """A wide access covers several granules."""
        wide = max(1, access.num_bytes // self._granule)
        if wide == 1:
            return parts
        place, *others = parts
        place = (place[None, :] + np.arange(wide)[:, None]).reshape(-1)
        return (place, *(np.tile(other, wide) if other.ndim else other for other in others))

    def read(self, lanes: Lanes, address: Value, access: Access) -> None:
        place, thread, clock, _ = self._spread(self._places(lanes, address, access), access)
        if access.is_strong:
            self._learn(place, thread)
        if access.is_ordered:
            return
        tag = _tag(clock, access.line, thread)
        self._fail_if_on_its_way(place, tag, "reads", lanes)
        for other, verb in ((self._written, "writes"), (self._atomic, "atomically updates")):
            before = other.reshape(-1)[place]
            conflict = self._unordered(before, tag, place)
            if access.is_strong:
                conflict = conflict & ~self._is_flag(place, before)
            self._fail_if(conflict, before, tag, verb, "reads", lanes)
        if isinstance(self.clocks, WarpClocks):
            self._reads[int(access.is_strong), place, thread >> WARP_BIT] = clock
        self._note_read(place, tag)

    def _note_read(self, place: Array, tag: Array) -> None:
        """The tag of the last reader, with whether there are others beside it."""
        tags = self._read.reshape(-1)
        before = tags[place]
        tags[place] = tag | self._beside_reader(place, before, tag) if self._is_open(before) else tag
        beside = tags[place] ^ tag
        crowded = (beside & THREAD_MASK) != 0
        if crowded.any():
            foreign = (beside & WARP_MASK) != 0
            tags[place[crowded & ~foreign]] |= MANY_LANES
            tags[place[foreign]] |= MANY_WARPS

    def _beside_reader(self, place: Array, before: Array, tag: Array) -> Array:
        """The flags that a new reader's tag gets from the one before."""
        changed = before ^ tag
        foreign = (changed & WARP_MASK) != 0
        several = self._is_recent(place, before) & (foreign | ((before & MANY_WARPS) != 0))
        crowd = ((changed & THREAD_MASK) != 0) | ((before & MANY_LANES) != 0)
        crowd &= ~foreign & (changed >> CLOCK_BIT == 0)
        return np.asarray((several * MANY_WARPS) | (crowd * MANY_LANES))

    def before_write(
        self,
        lanes: Lanes,
        address: Value,
        values: tuple[Value, ...],
        access: Access,
        space: SharedValues,
        *,
        was_expected: bool,
    ) -> None:
        """A store, or a copy that was waited for."""
        if access.is_release:
            self.fence(lanes)
        place, thread, clock, lane = self._spread(self._places(lanes, address, access), access)
        tag = _tag(clock, access.line, thread)
        if not access.is_ordered:
            self._check_write((place, tag, lane), lanes, address, values, access, space)
            if was_expected:
                np.subtract.at(self._on_their_way.reshape(-1), place, 1)
            else:
                self._fail_if_on_its_way(place, tag, "writes", lanes)
            self._written.reshape(-1)[place] = tag
        self._hand_on(place, thread, access)

    def _check_write(
        self,
        touch: tuple[Array, Array, Array],
        lanes: Lanes,
        address: Value,
        values: tuple[Value, ...],
        access: Access,
        space: SharedValues,
    ) -> None:
        """Places, tags and lanes of a write that is to race with nothing before it."""
        place, tag, lane = touch
        flags = self._hands_on(place, tag, access)
        conflict, before = self._read_by_others(place, tag, flags)
        self._fail_if(conflict, before, tag, "reads", "writes", lanes)
        before = self._atomic.reshape(-1)[place]
        conflict = self._unordered(before, tag, place) & ~flags
        self._fail_if(conflict, before, tag, "atomically updates", "writes", lanes)
        before = self._written.reshape(-1)[place]
        conflict = self._unordered(before, tag, place) & ~(flags & self._is_flag(place, before))
        if conflict.any():
            conflict &= self._different(lanes, space.differs(lanes, address, values, access), lane)
            self._fail_if(conflict, before, tag, *_TWO_WRITES, lanes)

    def after_write(
        self, lanes: Lanes, address: Value, values: tuple[Value, ...], access: Access, space: SharedValues
    ) -> None:
        """Two lanes of one instruction that stored different values to one place."""
        place, thread, clock, lane = self._spread(self._places(lanes, address, access), access)
        tag = _tag(clock, access.line, thread)
        kept = self._written.reshape(-1)[place]
        collided = kept != tag
        if collided.any() and not access.is_ordered:
            collided &= self._different(lanes, space.differs(lanes, address, values, access), lane)
            if collided.any():
                raise _race(collided, kept, tag, _TWO_WRITES, lanes)

    def begin_copy(
        self, lanes: Lanes, address: Value, values: tuple[Value, ...], access: Access, space: SharedValues
    ) -> None:
        """A copy may arrive at any time from now on until it is waited for."""
        place, thread, clock, lane = self._spread(self._places(lanes, address, access), access)
        tag = _tag(clock, access.line, thread)
        self._check_write((place, tag, lane), lanes, address, values, access, space)
        if self._copier is None:
            self._copier, self._on_their_way = np.zeros_like(self._written), np.zeros_like(self._written)
        self._copier.reshape(-1)[place] = tag
        np.add.at(self._on_their_way.reshape(-1), place, 1)

    def _unordered(self, before: Array, tag: Array, place: Array) -> Value:
        """Of another thread, with nothing since that puts the two in order."""
        if not self._is_open(before):
            return np.zeros(before.shape, dtype=np.bool_)
        threads = (tag & THREAD_MASK, before & THREAD_MASK)
        return self.clocks.unordered(self._block(place), threads, before >> CLOCK_BIT)

    def _is_open(self, before: Array) -> bool:
        """Whether some of these could be out of order at all."""
        return bool((before >= max(1, self.clocks.floor << CLOCK_BIT)).any())

    def _block(self, place: Array) -> Array:
        return place // self._written.shape[1]

    def _is_recent(self, place: Array, before: Array) -> Value:
        """Of the time since the block's last barrier; always, where clocks are by warp and tell more."""
        if isinstance(self.clocks, WarpClocks):
            return np.bool_(True)
        return self.clocks.is_recent(self._block(place), before >> CLOCK_BIT)

    def _read_by_others(self, place: Array, tag: Array, flags: Value) -> tuple[Value, Array]:
        """Where threads read that the writer has not met since, and the tag of one of them.

        `flags`: where the write is to a flag, so that those who look at the flag are no concern.
        """
        before = self._read.reshape(-1)[place]
        if not self._is_open(before):
            return np.zeros(before.shape, dtype=np.bool_), before
        same_clock = before >> CLOCK_BIT == tag >> CLOCK_BIT
        same_warp = ((before ^ tag) & WARP_MASK) == 0
        crowd = same_clock & same_warp & ((before & MANY_LANES) != 0)
        conflict = self._unordered(before, tag, place) | crowd
        if isinstance(self.clocks, BlockEpochs):
            return conflict | (self._is_recent(place, before) & ((before & MANY_WARPS) != 0)), before
        knows = self.clocks.of_others(self._block(place), _warp(tag))
        plain, strong = self._reads[:, place]
        late = (plain > knows) | ((strong > knows) & ~np.broadcast_to(flags, place.shape)[:, None])
        late[np.arange(place.size), _warp(tag)] = False
        reader = np.where(conflict & ~same_warp, _warp(before), late.argmax(axis=1))
        foreign = late.any(axis=1)
        named = np.where(reader == _warp(before), before, (before & ~THREAD_MASK) | (reader << WARP_BIT))
        return foreign | (conflict & same_warp & ~flags), np.where(foreign, named, before)

    def _learn(self, place: Array, thread: Array) -> None:
        """Who looks at a flag finds what was handed on by it."""
        if isinstance(self.clocks, WarpClocks):
            found = self._handed_on[place]
            some = found.any(axis=1)
            if some.any():
                self.clocks.learn(self._block(place[some]), thread[some], found[some])

    def _hand_on(self, place: Array, thread: Array, access: Access) -> None:
        """Put what the writer's warp may hand on to the place; a plain write makes it a flag no more."""
        if isinstance(self.clocks, WarpClocks):
            if access.is_strong or access.operation:
                clocks = self.clocks.handed_on(self._block(place), thread >> WARP_BIT)
                if clocks.any():
                    raise_rows(self._handed_on, place, clocks)
            else:
                self._handed_on[place] = 0

    def _hands_on(self, place: Array, tag: Array, access: Access) -> Value:
        """Whether a write is to a flag: not plain, and behind a fence."""
        if isinstance(self.clocks, WarpClocks) and (access.is_strong or access.operation):
            return np.asarray(self.clocks.handed_on(self._block(place), _warp(tag)).any(axis=1))
        return np.bool_(False)

    def _is_flag(self, place: Array, before: Array) -> Value:
        """Whether who touched a place last of all made it a flag."""
        if isinstance(self.clocks, WarpClocks):
            return np.asarray(self._handed_on[place, _warp(before)] != 0)
        return np.bool_(False)

    def _different(self, lanes: Lanes, differs: Array, lane: Array) -> Array:
        """Lane by lane; one row of tags stands for a difference in any block."""
        if self._written.shape[0] == 1 and not lanes.base.is_list:
            return np.asarray(differs.any(axis=0))[lane]
        return differs.reshape(-1)[lane]

    def atomic(self, lanes: Lanes, address: Value, access: Access) -> None:
        if access.is_release:
            self.fence(lanes)
        place, thread, clock, _ = self._spread(self._places(lanes, address, access), access)
        self._learn(place, thread)
        tag = _tag(clock, access.line, thread)
        self._fail_if_on_its_way(place, tag, "atomically updates", lanes)
        before = self._written.reshape(-1)[place]
        conflict = self._unordered(before, tag, place) & ~self._is_flag(place, before)
        self._fail_if(conflict, before, tag, "writes", "atomically updates", lanes)
        conflict, before = self._read_by_others(place, tag, self._hands_on(place, tag, access))
        self._fail_if(conflict, before, tag, "reads", "atomically updates", lanes)
        self._atomic.reshape(-1)[place] = tag
        self._hand_on(place, thread, access)

    def _fail_if(
        self, conflict: Value, before: Array, tag: Array, first: str, second: str, lanes: Lanes
    ) -> None:
        """Between warps a verdict; between lanes of a warp one under the strict memory model."""
        if not conflict.any():
            return
        within = conflict & (((before ^ tag) & WARP_MASK) == 0)
        between = conflict & ~within
        if between.any():
            raise _race(between, before, tag, (first, second), lanes)
        self._undefined.meet(_race(within, before, tag, (first, second), lanes))

    def _fail_if_on_its_way(self, place: Array, tag: Array, verb: str, lanes: Lanes) -> None:
        if self._copier is None:
            return
        conflict = self._on_their_way.reshape(-1)[place] != 0
        if not conflict.any():
            return
        at = int(np.argmax(conflict))
        lines, names = _parties((int(self._copier.reshape(-1)[place[at]]), int(tag[at])), lanes)
        raise KernelFault(
            FaultKind.DATA_RACE,
            f"data race in shared memory: thread {names[1]} {verb} a word on line {lines[1]} while the copy "
            f"that thread {names[0]} began by `cp.async` on line {lines[0]} is still on its way there; that "
            "thread must wait for it first (`cp.async.wait_group`, `__pipeline_wait_prior`), then "
            "__syncthreads()",
            lines[1],
            lines[0],
        )


class SharedValues(Protocol):
    """What the tracker needs of the memory itself."""

    def differs(self, lanes: Lanes, address: Value, values: tuple[Value, ...], access: Access) -> Array:
        """For each lane, whether memory holds anything else than its values at its place."""


def _tag(clock: Array, line: int | None, thread: Array) -> Array:
    return (clock << CLOCK_BIT) | (((line or 0) & LINE_MASK) << LINE_BIT) | thread


def _race(conflict: Array, before: Array, tag: Array, verbs: tuple[str, str], lanes: Lanes) -> KernelFault:
    """Words for the first of some conflicts."""
    at = int(np.argmax(conflict))
    old, new = int(before[at]), int(tag[at])
    lines, names = _parties((old, new), lanes)
    first = "another thread" if names[0] == names[1] else f"thread {names[0]}"
    missing, remedy = "a barrier", "put __syncthreads() between them"
    if ((old ^ new) & WARP_MASK) == 0 and not old & MANY_WARPS:
        missing, remedy = "a __syncwarp()", "lanes of a warp need not run in step: put __syncwarp() there"
        if old >> LINE_BIT == new >> LINE_BIT and verbs == _TWO_WRITES:
            missing, remedy = "a barrier", "let one thread write it"
    return KernelFault(
        FaultKind.DATA_RACE,
        f"data race in shared memory: {first} {verbs[0]} a word on line {lines[0]} and thread "
        f"{names[1]} {verbs[1]} it on line {lines[1]} without {missing} between them; {remedy}",
        lines[1],
        lines[0],
    )


def _parties(tags: tuple[int, int], lanes: Lanes) -> tuple[list[int | None], list[str]]:
    """Lines and threads of two tags."""
    lines = [((tag >> LINE_BIT) & LINE_MASK) or None for tag in tags]
    threads = [lanes.base.geometry.thread_coordinates(np.int64(tag & THREAD_MASK)) for tag in tags]
    return lines, ["({},{},{})".format(*thread) for thread in threads]


def _warp(tag: Array) -> Array:
    return (tag & WARP_MASK) >> WARP_BIT
