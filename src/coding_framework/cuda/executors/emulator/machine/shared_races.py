"""Data races in shared memory, between warps of one block that no barrier puts in order.

Lanes that run in step would hide a missing barrier, so conflicts are found by bookkeeping: each
granule remembers its last writer, its last reader (and whether several warps read it; in kernels with
barriers for some of the threads, the last read of every warp) and its last atomic, with the clock of
its warp. While every block makes the same accesses between the same barriers, one row of tags stands
for all blocks.

Guaranteed: write→read, read→write and write→write (of different values) between warps of a block
without a barrier that both pass between them, and any access to a place that a copy by `cp.async` is on
its way to, whoever began it. Not found: conflicts within one warp in different instructions (they run in
order), two copies of one warp to one place that are both waited for before anyone looks, and accesses
that are ordered by their own marks (`acquire`, `release`, `relaxed`).
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from coding_framework.cuda.executors.base import FaultKind
from coding_framework.cuda.executors.emulator.dtypes import Array, Value
from coding_framework.cuda.executors.emulator.faults import KernelFault
from coding_framework.cuda.executors.emulator.machine.barrier_clocks import BlockEpochs, WarpClocks
from coding_framework.cuda.executors.emulator.machine.lanes import Lanes
from coding_framework.cuda.executors.emulator.program.access import Access

EPOCH_BIT, LINE_BIT, MANY_BIT, WARP_BIT = 40, 16, 1 << 12, 5
THREAD_MASK, WARP_MASK, LINE_MASK = 0x3FF, 0x3E0, 0xFFFFFF


class SharedRaces:
    """Tags of all granules: epoch, line, several-warps flag and thread in one int64.

    An epoch is the clock of the thread's warp.
    """

    def __init__(
        self, num_blocks: int, num_bytes: int, granule: int, clocks: BlockEpochs | WarpClocks
    ) -> None:
        self._num_blocks = num_blocks
        self._granule = granule
        self.clocks = clocks
        size = -(-max(num_bytes, 1) // granule) + 16
        self._written = np.zeros((1, size), dtype=np.int64)
        self._read = np.zeros((1, size), dtype=np.int64)
        self._atomic = np.zeros((1, size), dtype=np.int64)
        self._copier: Array | None = None
        """Who began the latest copy to a granule; None until there is one."""
        self._on_their_way: Array = np.zeros((1, 0), dtype=np.int64)
        """Copies to a granule that are not there yet."""
        self._reads: Array = np.zeros((0, 0), dtype=np.int32)
        """By granule, the clock of every warp's last read; only where clocks are by warp."""
        if isinstance(clocks, WarpClocks):
            self._split()
            self._reads = np.zeros((self._written.size, clocks.num_warps), dtype=np.int32)

    def pass_all(self, rows: Array | None) -> None:
        """A barrier was passed by all threads of all blocks, or of some."""
        if rows is not None:
            self._split()
        self.clocks.pass_all(rows)

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
        """Flat granule numbers, threads, epochs and active-lane numbers of an access."""
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
        epoch = self.clocks.now(place // size, thread >> WARP_BIT)
        lane = np.flatnonzero(mask)
        return place, thread, epoch, lane

    def _spread(self, parts: tuple[Array, ...], access: Access) -> tuple[Array, ...]:
        """A wide access covers several granules."""
        wide = max(1, access.num_bytes // self._granule)
        if wide == 1:
            return parts
        place, *others = parts
        place = (place[None, :] + np.arange(wide)[:, None]).reshape(-1)
        return (place, *(np.tile(other, wide) for other in others))

    def read(self, lanes: Lanes, address: Value, access: Access) -> None:
        place, thread, epoch, _ = self._spread(self._places(lanes, address, access), access)
        tag = _tag(epoch, access.line, thread)
        self._fail_if_on_its_way(place, tag, "reads", lanes)
        for other, verb in ((self._written, "writes"), (self._atomic, "atomically updates")):
            before = other.reshape(-1)[place]
            self._fail_if(self._foreign(before, tag, place), before, tag, verb, "reads", lanes)
        if isinstance(self.clocks, WarpClocks):
            self._reads[place, thread >> WARP_BIT] = epoch
        tags = self._read.reshape(-1)
        before = tags[place]
        same_epoch = (before >> EPOCH_BIT) == epoch
        several = same_epoch & (((before & MANY_BIT) != 0) | (((before ^ tag) & WARP_MASK) != 0))
        tags[place] = tag | (several * MANY_BIT)
        crowded = ((tags[place] ^ tag) & WARP_MASK) != 0
        if crowded.any():
            tags[place[crowded]] |= MANY_BIT

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
        place, tag = self._check_write(lanes, address, values, access, space)
        if was_expected:
            np.subtract.at(self._on_their_way.reshape(-1), place, 1)
        else:
            self._fail_if_on_its_way(place, tag, "writes", lanes)
        self._written.reshape(-1)[place] = tag

    def _check_write(
        self, lanes: Lanes, address: Value, values: tuple[Value, ...], access: Access, space: SharedValues
    ) -> tuple[Array, Array]:
        """The places and tags of a write that races with nothing before it."""
        place, thread, epoch, lane = self._spread(self._places(lanes, address, access), access)
        tag = _tag(epoch, access.line, thread)
        conflict, before = self._read_by_others(place, tag)
        self._fail_if(conflict, before, tag, "reads", "writes", lanes)
        before = self._atomic.reshape(-1)[place]
        self._fail_if(self._foreign(before, tag, place), before, tag, "atomically updates", "writes", lanes)
        before = self._written.reshape(-1)[place]
        conflict = self._foreign(before, tag, place)
        if conflict.any():
            conflict &= self._different(lanes, space.differs(lanes, address, values, access), lane)
            self._fail_if(conflict, before, tag, "writes", "writes a different value to", lanes)
        return place, tag

    def after_write(
        self, lanes: Lanes, address: Value, values: tuple[Value, ...], access: Access, space: SharedValues
    ) -> None:
        """Two lanes of one instruction that stored different values to one place."""
        place, thread, epoch, lane = self._spread(self._places(lanes, address, access), access)
        tag = _tag(epoch, access.line, thread)
        kept = self._written.reshape(-1)[place]
        collided = kept != tag
        if collided.any():
            collided &= self._different(lanes, space.differs(lanes, address, values, access), lane)
            self._fail_if(collided, kept, tag, "writes", "writes a different value to", lanes)

    def begin_copy(
        self, lanes: Lanes, address: Value, values: tuple[Value, ...], access: Access, space: SharedValues
    ) -> None:
        """A copy may arrive at any time from now on until it is waited for."""
        place, tag = self._check_write(lanes, address, values, access, space)
        if self._copier is None:
            self._copier, self._on_their_way = np.zeros_like(self._written), np.zeros_like(self._written)
        self._copier.reshape(-1)[place] = tag
        np.add.at(self._on_their_way.reshape(-1), place, 1)

    def _foreign(self, before: Array, tag: Array, place: Array) -> Value:
        """Of another warp, with no barrier since."""
        if isinstance(self.clocks, BlockEpochs):
            same_epoch = (before >> EPOCH_BIT) == (tag >> EPOCH_BIT)
            return same_epoch & (((before ^ tag) & WARP_MASK) != 0)
        block = place // self._written.shape[1]
        return self.clocks.unordered(block, (_warp(tag), _warp(before)), before >> EPOCH_BIT)

    def _read_by_others(self, place: Array, tag: Array) -> tuple[Value, Array]:
        """Where warps read that the writer's warp has not met since, and the tag of one of them."""
        before = self._read.reshape(-1)[place]
        if isinstance(self.clocks, BlockEpochs):
            several = ((before ^ tag) >> EPOCH_BIT == 0) & ((before & MANY_BIT) != 0)
            return self._foreign(before, tag, place) | several, before
        late = self._reads[place] > self.clocks.of_others(place // self._written.shape[1], _warp(tag))
        late[np.arange(place.size), _warp(tag)] = False
        reader = np.where(self._foreign(before, tag, place), _warp(before), late.argmax(axis=1))
        same = reader == _warp(before)
        return late.any(axis=1), np.where(same, before, (before & ~THREAD_MASK) | (reader << WARP_BIT))

    def _different(self, lanes: Lanes, differs: Array, lane: Array) -> Array:
        """Lane by lane; one row of tags stands for a difference in any block."""
        if self._written.shape[0] == 1 and not lanes.base.is_list:
            return np.asarray(differs.any(axis=0))[lane]
        return differs.reshape(-1)[lane]

    def atomic(self, lanes: Lanes, address: Value, access: Access) -> None:
        place, thread, epoch, _ = self._spread(self._places(lanes, address, access), access)
        tag = _tag(epoch, access.line, thread)
        self._fail_if_on_its_way(place, tag, "atomically updates", lanes)
        before = self._written.reshape(-1)[place]
        self._fail_if(self._foreign(before, tag, place), before, tag, "writes", "atomically updates", lanes)
        conflict, before = self._read_by_others(place, tag)
        self._fail_if(conflict, before, tag, "reads", "atomically updates", lanes)
        self._atomic.reshape(-1)[place] = tag

    def _fail_if(
        self, conflict: Array, before: Array, tag: Array, first: str, second: str, lanes: Lanes
    ) -> None:
        if not conflict.any():
            return
        at = int(np.argmax(conflict))
        old, new = int(before[at]), int(tag[at])
        lines, names = _parties((old, new), lanes)
        same_warp = ((old ^ new) & WARP_MASK) == 0
        remedy = "let one thread write it" if same_warp else "put __syncthreads() between them"
        raise KernelFault(
            FaultKind.DATA_RACE,
            f"data race in shared memory: thread {names[0]} {first} a word on line {lines[0]} and thread "
            f"{names[1]} {second} it on line {lines[1]} without a barrier between them; {remedy}",
            lines[1],
            lines[0],
        )

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


def _tag(epoch: Array, line: int | None, thread: Array) -> Array:
    return (epoch << EPOCH_BIT) | (((line or 0) & LINE_MASK) << LINE_BIT) | thread


def _parties(tags: tuple[int, int], lanes: Lanes) -> tuple[list[int | None], list[str]]:
    """Lines and threads of two tags."""
    lines = [((tag >> LINE_BIT) & LINE_MASK) or None for tag in tags]
    threads = [lanes.base.geometry.thread_coordinates(np.int64(tag & THREAD_MASK)) for tag in tags]
    return lines, ["({},{},{})".format(*thread) for thread in threads]


def _warp(tag: Array) -> Array:
    return (tag & WARP_MASK) >> WARP_BIT
