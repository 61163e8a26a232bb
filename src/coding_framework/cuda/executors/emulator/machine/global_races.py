"""Data races in device memory: between blocks of a launch, and between warps of a block.

Only buffers that the kernel may write are watched (known from the PTX before the run), so read-only
inputs cost nothing. Blocks have no order within a launch, so any conflict between two blocks is a
race, unless the kernel uses fences, with which blocks may hand data over on purpose; then only
conflicts within a block are looked for. Within a block a barrier orders what its participants did.

Which buffers are watched is a guess from the code, which only saves time: a plain store to any other
(by a pointer that went through memory, say) raises `WroteUnwatched`, and the run is made again with all
of them watched.

Of a block's readers two are remembered that no barrier puts in order, which is enough where barriers are
for the whole block. Not found: a third such reader, in kernels with barriers for some of the threads; with
fences, conflicts within a block over what several blocks have read; and volatile accesses.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from coding_framework.cuda.executors.base import BufferArgument, FaultKind, ResolvedLaunch
from coding_framework.cuda.executors.emulator.dtypes import Array, Value
from coding_framework.cuda.executors.emulator.faults import KernelFault
from coding_framework.cuda.executors.emulator.machine.barrier_clocks import BlockEpochs, WarpClocks
from coding_framework.cuda.executors.emulator.machine.buffers import DeviceBuffer, DeviceMemory
from coding_framework.cuda.executors.emulator.machine.geometry import WARP, describe_thread
from coding_framework.cuda.executors.emulator.machine.lanes import Lanes
from coding_framework.cuda.executors.emulator.program.access import Access
from coding_framework.cuda.executors.emulator.program.code import Kernel

LINE_BITS = 24
LINE_MASK = (1 << LINE_BITS) - 1
SEVERAL = -1
"""In place of a reader: threads of several blocks."""


class WroteUnwatched(Exception):
    """A store went to a buffer that the code did not seem to write; its readers were not noted."""


@dataclass
class _Tags:
    """Last plain writer and readers of every granule: thread number plus one, and epoch with line."""

    size: int
    writer: Array = field(init=False)
    writer_when: Array = field(init=False)
    reader: Array | None = None
    reader_when: Array | None = None
    other_reader: Array | None = None
    """One of another warp that no barrier puts in order with the last; None until there is one."""
    other_reader_when: Array | None = None

    def __post_init__(self) -> None:
        self.writer = np.zeros(self.size, dtype=np.int64)
        self.writer_when = np.zeros(self.size, dtype=np.int64)


@dataclass(frozen=True)
class _Touch:
    """The granules of one access, with who touches them and when."""

    place: Array
    thread: Array
    when: Array
    lane: Array
    """Position among the active lanes."""
    block: Array
    """Number of the block within the chunk."""


class GlobalRaces:
    """The tags of one launch."""

    def __init__(
        self, kernel: Kernel, launch: ResolvedLaunch, memory: DeviceMemory, *, watch_all: bool
    ) -> None:
        self._granule = kernel.global_granule
        self._across_blocks = not kernel.uses_fences
        self._num_threads = launch.block[0] * launch.block[1] * launch.block[2]
        self._tags: dict[int, _Tags] = {}
        self._clocks: BlockEpochs | WarpClocks = BlockEpochs(1, 1)
        self._launch = launch
        written = {launch.arguments[i] for i in kernel.written_parameters if i < len(launch.arguments)}
        names = {a.name for a in written if isinstance(a, BufferArgument)}
        passed = set(memory.by_name)
        self._watched = {
            b.base
            for b in memory.by_window.values()
            if watch_all or b.name in names or (b.name not in passed)
        }

    def turn_to(self, clocks: BlockEpochs | WarpClocks) -> None:
        """The next accesses are of another chunk, in which barriers have clocks of their own."""
        self._clocks = clocks

    def load(self, lanes: Lanes, address: Value, access: Access, buffer: DeviceBuffer) -> None:
        if access.is_strong or buffer.base not in self._watched or buffer.is_constant:
            return
        tags = self._tags_of(buffer)
        touch = self._touch(lanes, lanes.compress(address) - buffer.base, access)
        writer = tags.writer[touch.place]
        if writer.any():
            conflict = self._conflict(writer, tags.writer_when[touch.place], touch)
            self._fail_if(conflict, writer, tags.writer_when, touch, "writes", "reads", access, buffer)
        self._note_readers(tags, touch)

    def _note_readers(self, tags: _Tags, touch: _Touch) -> None:
        if tags.reader is None or tags.reader_when is None:
            tags.reader, tags.reader_when = np.zeros_like(tags.writer), np.zeros_like(tags.writer)
        before, before_when = tags.reader[touch.place], tags.reader_when[touch.place]
        mine = touch.thread + 1
        block = self._block(mine)
        foreign = (before == SEVERAL) | ((before != 0) & (self._block(before) != block))
        tags.reader[touch.place] = np.where(foreign, SEVERAL, mine)
        tags.reader_when[touch.place] = touch.when
        after = tags.reader[touch.place]
        crowded = (after != SEVERAL) & (self._block(after) != block)
        if crowded.any() or foreign.any():
            tags.reader[touch.place[crowded | foreign]] = SEVERAL
        if before.any():
            beside = (before > 0) & ~foreign
            beside &= self._warp(mine) != self._warp(before)
            threads = (self._inside(mine), self._inside(before))
            beside &= self._clocks.unordered(touch.block, threads, before_when >> LINE_BITS)
            self._note_others(tags, touch.place, beside, (before, before_when))
        if (after != mine).any():
            together = (after > 0) & ~crowded & (self._warp(after) != self._warp(mine))
            self._note_others(tags, touch.place, together, (mine, touch.when))

    @staticmethod
    def _note_others(tags: _Tags, place: Array, chosen: Array, tag: tuple[Array, Array]) -> None:
        if not chosen.any():
            return
        if tags.other_reader is None or tags.other_reader_when is None:
            tags.other_reader, tags.other_reader_when = np.zeros_like(tags.writer), np.zeros_like(tags.writer)
        tags.other_reader[place[chosen]] = tag[0][chosen]
        tags.other_reader_when[place[chosen]] = tag[1][chosen]

    def store(
        self, lanes: Lanes, index: Array, columns: list[Array], access: Access, buffer: DeviceBuffer
    ) -> None:
        """Before the values are written: conflicts with what others read or wrote."""
        if access.is_strong:
            return
        if buffer.base not in self._watched:
            raise WroteUnwatched
        tags = self._tags_of(buffer)
        touch = self._touch(lanes, index.reshape(-1) * access.element_bytes, access)
        for readers, when in (
            (tags.reader, tags.reader_when),
            (tags.other_reader, tags.other_reader_when),
        ):
            if readers is not None and when is not None:
                reader = readers[touch.place]
                conflict = self._conflict(reader, when[touch.place], touch)
                self._fail_if(conflict, reader, when, touch, "reads", "writes", access, buffer)
        writer = tags.writer[touch.place]
        if writer.any():
            conflict = self._conflict(writer, tags.writer_when[touch.place], touch)
            if conflict.any():
                conflict &= _differs(index, columns, access, buffer)[touch.lane]
                verb = "writes a different value to"
                self._fail_if(conflict, writer, tags.writer_when, touch, "writes", verb, access, buffer)
        tags.writer[touch.place] = touch.thread + 1
        tags.writer_when[touch.place] = touch.when

    def after_store(
        self, lanes: Lanes, index: Array, columns: list[Array], access: Access, buffer: DeviceBuffer
    ) -> None:
        """Lanes of one instruction that stored different values to one place."""
        if access.is_strong:
            return
        tags = self._tags_of(buffer)
        flat = index.reshape(-1)
        if flat.size < 2 or (flat[1:] > flat[:-1]).all():
            return
        touch = self._touch(lanes, flat * access.element_bytes, access)
        kept = tags.writer[touch.place]
        collided = kept != touch.thread + 1
        if collided.any():
            collided &= _differs(index, columns, access, buffer)[touch.lane]
            verb = "writes a different value to"
            self._fail_if(collided, kept, tags.writer_when, touch, "writes", verb, access, buffer)

    def atomic(self, lanes: Lanes, address: Value, access: Access, buffer: DeviceBuffer) -> None:
        """An atomic races with the plain store of another block or warp."""
        tags = self._tags.get(buffer.base)
        if tags is None:
            return
        touch = self._touch(lanes, lanes.compress(address) - buffer.base, access)
        writer = tags.writer[touch.place]
        if writer.any():
            conflict = self._conflict(writer, tags.writer_when[touch.place], touch)
            verb = "atomically updates"
            self._fail_if(conflict, writer, tags.writer_when, touch, "writes", verb, access, buffer)

    def _tags_of(self, buffer: DeviceBuffer) -> _Tags:
        if buffer.base not in self._tags:
            self._tags[buffer.base] = _Tags(-(-buffer.data.size // self._granule))
        return self._tags[buffer.base]

    def _touch(self, lanes: Lanes, offset: Array, access: Access) -> _Touch:
        base = lanes.base
        block = lanes.compress(base.block)
        inside = lanes.compress(base.thread)
        thread = base.geometry.numbers[block] * self._num_threads + inside
        now = np.broadcast_to(self._clocks.now(block, inside // WARP), block.shape)
        when = (now << LINE_BITS) | ((access.line or 0) & LINE_MASK)
        place, lane = offset // self._granule, np.arange(offset.size)
        wide = max(1, access.num_bytes // self._granule)
        if wide > 1:
            place = (place[None, :] + np.arange(wide)[:, None]).reshape(-1)
            thread, when, lane, block = (np.tile(part, wide) for part in (thread, when, lane, block))
        return _Touch(place, thread, when, lane, block)

    def _block(self, tag: Array) -> Array:
        return (tag - 1) // self._num_threads

    def _warp(self, tag: Array) -> Array:
        return self._inside(tag) // WARP

    def _inside(self, tag: Array) -> Array:
        """The thread within its block."""
        return (tag - 1) % self._num_threads

    def _conflict(self, other: Array, other_when: Array, touch: _Touch) -> Value:
        mine = touch.thread + 1
        concerned = (other != 0) & (other != mine)
        if not concerned.any():
            return concerned
        same_block = (other != SEVERAL) & (self._block(other) == self._block(mine))
        inside = same_block & (self._warp(other) != self._warp(mine))
        threads = (self._inside(mine), np.where(inside, self._inside(other), 0))
        inside &= self._clocks.unordered(touch.block, threads, other_when >> LINE_BITS)
        across = ~same_block
        return concerned & (inside | across if self._across_blocks else inside)

    def _fail_if(
        self,
        conflict: Array,
        other: Array,
        other_when: Array,
        touch: _Touch,
        first: str,
        second: str,
        access: Access,
        buffer: DeviceBuffer,
    ) -> None:
        if not conflict.any():
            return
        at = int(np.argmax(conflict))
        line = int(other_when[touch.place[at]]) & LINE_MASK or None
        width = buffer.element.itemsize if buffer.element.itemsize > 1 else access.element_bytes
        element = int(touch.place[at]) * self._granule // width
        here = self._name(int(touch.thread[at]))
        there = "a thread of another block" if other[at] == SEVERAL else self._name(int(other[at]) - 1)
        same_block = other[at] != SEVERAL and self._block(other[at]) == self._block(touch.thread[at] + 1)
        remedy = (
            "put __syncthreads() between them or let one thread do it"
            if same_block
            else "blocks of one launch have no order: write separate elements, use atomics, or launch twice"
        )
        raise KernelFault(
            FaultKind.DATA_RACE,
            f"data race in device memory: {there} {first} element {element} of `{buffer.name}` on line "
            f"{line} and {here} {second} it on line {access.line} in the same launch; {remedy}",
            access.line,
            line,
        )

    def _name(self, thread: int) -> str:
        block, inside = divmod(thread, self._num_threads)
        return describe_thread(block, inside, self._launch.grid, self._launch.block)


def _differs(index: Array, columns: list[Array], access: Access, buffer: DeviceBuffer) -> Array:
    """For each lane, whether memory holds other bits than its values."""
    bits = f"i{8 * access.element_bytes}"
    view = buffer.view(bits)
    found = np.zeros(index.size, dtype=np.bool_)
    for position, column in enumerate(columns):
        raw = np.ascontiguousarray(column).reshape(-1).view(view.dtype)
        found |= view[index.reshape(-1) + position] != raw
    return found
