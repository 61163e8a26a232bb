"""Rule `missing-barrier`: shared memory that one thread writes and another uses with no barrier between.

The accesses of a traced block are replayed over shadow memory: every granule remembers its last
writer and its readers since the last barrier. Two rounds of each loop are in the trace, so what a
round does to the next is seen too. Found: write→read and read→write between threads, and atomics
against plain accesses are errors; write→write by two statements is a warning, as both may store the
same value. Left out: one statement by which several threads write one element, volatile accesses,
arrays handed to functions that are not in the source, and all but write→read within one warp, which
runs in step in practice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np

from coding_framework.cuda.analysis.pitfalls.events import Access, Barrier, Escape, Trace
from coding_framework.cuda.analysis.pitfalls.report import WARP, pitfall
from coding_framework.cuda.analysis.pitfalls.values import Lanes, Region
from coding_framework.records.finding import Finding

MAX_GRANULES = 1 << 16
"""228 KiB of shared memory in words; arrays of bytes beyond it are not followed."""


def missing_barriers(traces: Sequence[Trace]) -> Iterator[Finding]:
    """One finding for each pair of lines."""
    seen: set[tuple[int, int]] = set()
    for trace in traces:
        for first, second, same_warp in _replay(trace):
            if (first.line, second.line) not in seen:
                seen.add((first.line, second.line))
                yield _finding(first, second, same_warp)


def _replay(trace: Trace) -> Iterator[tuple[Access, Access, bool]]:
    shadows: dict[Region, _Shadow] = {}
    ignored = {event.region for event in trace.events if isinstance(event, Escape)}
    for event in trace.events:
        if isinstance(event, Barrier):
            _pass(event, shadows)
        elif isinstance(event, Access) and event.region.space == "shared":
            if event.region in ignored or event.is_volatile or event.region.is_volatile:
                continue
            if event.region not in shadows:
                shadows[event.region] = _Shadow(event.region, event.active.size)
            conflict = shadows[event.region].touch(event)
            if conflict is not None:
                yield conflict[0], event, conflict[1]


def _pass(barrier: Barrier, shadows: dict[Region, _Shadow]) -> None:
    """Any barrier that may be passed is taken to be passed by all: silence before a wrong claim."""
    for shadow in shadows.values():
        if barrier.scope == "block":
            shadow.reset()
        else:
            shadow.warp_epoch += 1


class _Shadow:
    """Who touched each granule of one array since the last barrier of the block."""

    def __init__(self, region: Region, num_threads: int) -> None:
        self.granule = 4 if region.element_bytes % 4 == 0 else max(region.element_bytes, 1)
        self.threads = np.arange(num_threads)
        self.accesses: list[Access] = []
        self.warp_epoch = 0
        self.is_clean = True
        extents = region.extents
        whole = prod(extent or 1 for extent in extents) * region.element_bytes // self.granule
        self._allocate(min(max(whole, 64), MAX_GRANULES))

    def _allocate(self, size: int) -> None:
        self.writer, self.writer_access, self.writer_epoch, self.reader, self.reader_access = np.full(
            (5, size), -1
        )
        self.other_warp_reads = np.zeros(size, dtype=np.bool_)

    def reset(self) -> None:
        """A barrier was passed: what came before matters no more."""
        if not self.is_clean:
            self.writer.fill(-1)
            self.reader.fill(-1)
            self.other_warp_reads.fill(False)
            self.accesses.clear()
            self.is_clean = True

    def touch(self, access: Access) -> tuple[Access, bool] | None:
        """An earlier access that this one conflicts with, and whether only within warps."""
        places = self._places(access)
        if places is None:
            return None
        granules, threads = places
        self.is_clean = False
        self.accesses.append(access)
        if access.kind == "read":
            conflict = self._after_write(access, granules, threads)
            self._note_read(granules, threads)
            return conflict
        conflict = self._after_read(access, granules, threads) or self._after_write(access, granules, threads)
        self.writer[granules] = threads
        self.writer_access[granules] = len(self.accesses) - 1
        self.writer_epoch[granules] = self.warp_epoch
        return conflict

    def _places(self, access: Access) -> tuple[Lanes, Lanes] | None:
        """Granules touched and by whom, one entry for each."""
        if access.address is None or not access.num_bytes:
            return None
        threads = self.threads[access.active]
        if isinstance(access.address, int):
            granules = np.full(threads.size, access.address // self.granule)
        else:
            granules = access.address[access.active] // self.granule
        wide = max(1, access.num_bytes // self.granule)
        if wide > 1:
            granules = (granules[:, None] + np.arange(wide)).reshape(-1)
            threads = np.repeat(threads, wide)
        if granules.size == 0 or granules.min() < 0:
            return None
        return (granules, threads) if self._reaches(int(granules.max())) else None

    def _reaches(self, granule: int) -> bool:
        """Make room for dynamic shared memory, whose size the source does not say."""
        size = self.writer.size
        if granule >= MAX_GRANULES:
            return False
        if granule >= size:
            old = (self.writer, self.writer_access, self.writer_epoch, self.reader, self.reader_access)
            reads = self.other_warp_reads
            self._allocate(min(2 * granule + 2, MAX_GRANULES))
            tables = (self.writer, self.writer_access, self.writer_epoch, self.reader, self.reader_access)
            for table, before in zip(tables, old, strict=True):
                table[:size] = before
            self.other_warp_reads[:size] = reads
        return True

    def _note_read(self, granules: Lanes, threads: Lanes) -> None:
        before = self.reader[granules]
        self.reader[granules] = threads
        mixed = (before >= 0) & (before // WARP != threads // WARP)
        mixed |= self.reader[granules] // WARP != threads // WARP
        self.other_warp_reads[granules[mixed]] = True
        self.reader_access[granules] = len(self.accesses) - 1

    def _after_write(self, access: Access, granules: Lanes, threads: Lanes) -> tuple[Access, bool] | None:
        writer = self.writer[granules]
        foreign = (writer >= 0) & (writer != threads)
        if not foreign.any():
            return None
        other_warp = foreign & (writer // WARP != threads // WARP)
        found = self._comparable(access, self.writer_access[granules[other_warp]])
        if found is not None:
            return found, False
        within = foreign & ~other_warp & (self.writer_epoch[granules] == self.warp_epoch)
        found = self._comparable(access, self.writer_access[granules[within]])
        return (found, True) if found is not None and access.kind == "read" else None

    def _after_read(self, access: Access, granules: Lanes, threads: Lanes) -> tuple[Access, bool] | None:
        reader = self.reader[granules]
        foreign = (reader >= 0) & ((reader // WARP != threads // WARP) | self.other_warp_reads[granules])
        found = self._comparable(access, self.reader_access[granules[foreign]])
        return (found, False) if found is not None else None

    def _comparable(self, access: Access, candidates: Lanes) -> Access | None:
        """An access whose unknown conditions do not exclude this one; atomics agree among themselves."""
        for at in np.unique(candidates):
            other = self.accesses[int(at)]
            if access.kind == other.kind and (access.kind == "atomic" or access.line == other.line):
                continue
            if access.guards <= other.guards or other.guards <= access.guards:
                return other
        return None


def _finding(first: Access, second: Access, same_warp: bool) -> Finding:
    verbs = {"read": "reads", "write": "writes", "atomic": "updates"}
    barrier = "__syncwarp()" if same_warp else "__syncthreads()"
    name = first.region.name
    is_doubtful = same_warp or first.kind == second.kind
    if first.line == second.line:
        where = f"on line {first.line} (in the same statement, or in the next round of the loop)"
        remedy = f"Put {barrier} after line {first.line} inside the loop, where every thread reaches it."
    else:
        where = f"on line {first.line}"
        loop = " (in the next round of the loop)" if second.line < first.line else ""
        where += loop
        remedy = (
            f"Put {barrier} between line {first.line} and line {second.line}, where every thread reaches it."
        )
    return pitfall(
        "missing-barrier",
        "warning" if is_doubtful else "error",
        second.line,
        f"a thread {verbs[second.kind]} an element of the shared array `{name}` with `{second.text or name}` "
        f"that another thread {verbs[first.kind]} with `{first.text or name}` {where}, and no barrier lies "
        "between",
        remedy,
    )
