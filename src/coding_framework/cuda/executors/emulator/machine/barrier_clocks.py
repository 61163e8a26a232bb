"""Which accesses of a block's threads have been put in order, by barriers, `__syncwarp` and fences.

Every warp has a clock that ticks whenever some of its lanes wait for each other, and every access is
marked with the clock of its warp. Lanes of one warp are in order with what another lane did before both
passed a `__syncwarp` (or a barrier of the block), as a warp's lanes need not run in step.

`BlockEpochs` is for kernels whose warps meet at barriers of the whole block alone: the clock at which
the last of them was passed says it all. `WarpClocks` is for kernels with barriers for some of the threads
(`bar.sync 1, 64`, `bar.arrive`) or with flags and locks in shared memory: each warp knows of every other
warp's clock what it was when a chain of such things last led from there to here.

Guaranteed: a barrier puts in order what its participants did before it and what those that waited at it
do afterwards, and nothing else. Towards other warps the threads of a warp count as one, so a barrier that
some of them pass, or a fence that one of them runs, counts for all.
"""

from __future__ import annotations

import numpy as np

from coding_framework.cuda.executors.emulator.dtypes import Array, Value
from coding_framework.cuda.executors.emulator.machine.geometry import WARP
from coding_framework.cuda.executors.emulator.machine.lanes import Lanes

_LANE = np.arange(WARP)
_ALL_LANES = np.uint32(0xFFFFFFFF)


class LaneClocks:
    """The clocks of all warps, and which lanes of a warp have met; one row while all blocks are alike."""

    def __init__(self, num_blocks: int, num_warps: int) -> None:
        self._num_blocks = num_blocks
        self.num_warps = num_warps
        self._clock: Array = np.ones((1, 1), dtype=np.int64)
        """(blocks, warps), either of them 1 while all are alike."""
        self._all_met: Array = self._clock
        """The clock after all lanes of the warp met; what was done before is in order for each of them."""
        self._pairs: Array | None = None
        """(blocks, warps, lane, other): up to which clock a lane knows of another. None until some lanes of a
        warp meet without the rest."""

    @property
    def are_alike(self) -> bool:
        """Whether every block has come equally far."""
        return bool(self._clock.shape[0] == 1)

    @property
    def floor(self) -> int:
        """What was done at an earlier clock is in order with everything from now on."""
        return 0

    def now(self, block: Array, warp: Array) -> Value:
        """What an access of a warp is marked with, one clock or by lane; blocks are those of the chunk."""
        return _at(self._clock, block, warp)

    def unordered(self, block: Array, threads: tuple[Array, Array], clock: Array) -> Value:
        """Whether nothing leads from what the second thread did at a clock to the first thread now."""
        mine, other = threads
        found = (mine != other) & self._may_be_unordered(block, threads, clock)
        if found.any():
            found &= (mine // WARP != other // WARP) | ~self._have_met(block, threads, clock)
        return found

    def _may_be_unordered(self, block: Array, threads: tuple[Array, Array], clock: Array) -> Value:
        """Where the warps differ exactly, and where they do not at the least."""
        raise NotImplementedError

    def _have_met(self, block: Array, threads: tuple[Array, Array], clock: Array) -> Value:
        """Of two lanes of a warp: whether the first has met the second since."""
        mine, other = threads
        found = clock < _at(self._all_met, block, mine // WARP)
        if self._pairs is not None:
            row = block if self._pairs.shape[0] > 1 else 0
            found = found | (clock <= self._pairs[row, mine // WARP, mine % WARP, other % WARP])
        return found

    def sync_lanes(self, lanes: Lanes, members: Value) -> None:
        """Active lanes meet those that they name."""
        named = members if members.ndim == 0 else lanes.compress(members)
        is_whole = bool(np.all(named == _ALL_LANES))
        if is_whole and lanes.active_warps is None and lanes.base.covers_chunk:
            self._clock = self._clock + 1
            self._all_met = self._clock
            return
        rows, here = self._warps_of(lanes)
        if not is_whole:
            self._meet_in_part(lanes, members, rows)
        self._clock[rows] += here
        if is_whole:
            self._all_met[rows] = np.where(here, self._clock[rows], self._all_met[rows])

    def _warps_of(self, lanes: Lanes) -> tuple[Array, Array]:
        """Rows of the clocks, which are made as many as it takes, and (rows, warps): who is active there."""
        base, active = lanes.base, lanes.active_warps
        here = np.ones((1, self.num_warps), dtype=np.bool_) if active is None else active
        if base.covers_chunk and here.shape[0] == 1:
            self._widen(self._clock.shape[0])
            return np.arange(self._clock.shape[0]), here
        self._widen(self._num_blocks)
        if not base.is_list:
            return base.block[:, 0], here
        here = np.zeros(self._clock.shape, dtype=np.bool_)
        here[lanes.compress(base.block), lanes.compress(base.thread) // WARP] = True
        return np.arange(self._num_blocks), here

    def _widen(self, num_rows: int) -> None:
        """Give every warp a clock of its own, in one row or in one for every block."""
        wanted = (num_rows, self.num_warps)
        self._clock = np.broadcast_to(self._clock, wanted).copy()
        self._all_met = np.broadcast_to(self._all_met, wanted).copy()
        if self._pairs is not None and self._pairs.shape[0] < num_rows:
            self._pairs = np.repeat(self._pairs, num_rows, axis=0)

    def _pairs_of_lanes(self) -> Array:
        if self._pairs is None:
            self._pairs = np.zeros((*self._clock.shape, WARP, WARP), dtype=np.int32)
        return self._pairs

    def _meet_in_part(self, lanes: Lanes, members: Value, rows: Array) -> None:
        pairs, named = self._pairs_of_lanes(), self._named(lanes, members, rows)
        known = pairs[rows]
        known[..., _LANE, _LANE] = self._clock[rows][..., None]
        learnt = known.copy()
        for lane in range(WARP):
            np.maximum(learnt, known[:, :, None, lane, :], out=learnt, where=named[..., lane, None])
        pairs[rows] = learnt

    def _named(self, lanes: Lanes, members: Value, rows: Array) -> Array:
        """(rows, warps, lane, other): whether an active lane names another."""
        masks = np.zeros((self._num_blocks, self.num_warps * WARP), dtype=np.uint32)
        base = lanes.base
        masks[lanes.compress(base.block), lanes.compress(base.thread)] = lanes.compress(members)
        at = masks.reshape(self._num_blocks, self.num_warps, WARP)[rows]
        found: Array = (at[..., None] >> _LANE.astype(np.uint32) & np.uint32(1)) != 0
        return found

    def _all_meet(self, rows: Array | None) -> None:
        """All threads of all blocks, or of some, have met: their clocks are alike from now on."""
        latest = self._clock.max() + 1
        if rows is None:
            self._clock, self._pairs = np.full((1, 1), latest), None
        else:
            self._clock = np.broadcast_to(self._clock, (self._num_blocks, self.num_warps)).copy()
            self._clock[rows] = latest
        self._all_met = self._clock.copy()


class BlockEpochs(LaneClocks):
    """Warps that meet at barriers of the whole block."""

    def __init__(self, num_blocks: int, num_warps: int) -> None:
        super().__init__(num_blocks, num_warps)
        self._begun: Array = np.ones((1, 1), dtype=np.int64)
        """The clock at which the block passed its last barrier."""

    @property
    def floor(self) -> int:
        return int(self._begun.min())

    def is_recent(self, block: Array, clock: Array) -> Array:
        """Whether a clock lies behind the last barrier of the block."""
        return np.asarray(clock >= _at(self._begun, block, 0))

    def _may_be_unordered(self, block: Array, threads: tuple[Array, Array], clock: Array) -> Value:
        return self.is_recent(block, clock)

    def pass_all(self, rows: Array | None) -> None:
        """All threads of all blocks, or of some, have met."""
        self._all_meet(rows)
        if rows is None:
            self._begun = self._clock
        else:
            self._begun = np.broadcast_to(self._begun, (self._num_blocks, 1)).copy()
            self._begun[rows] = self._clock[rows, :1]


class WarpClocks(LaneClocks):
    """Vector clocks: `known[block, warp, other]`, a warp's own clock on the diagonal."""

    def __init__(self, num_blocks: int, num_warps: int) -> None:
        super().__init__(num_blocks, num_warps)
        self._widen(num_blocks)
        self._known: Array = np.zeros((num_blocks, num_warps, num_warps), dtype=np.int64)
        self._diagonal = np.arange(num_warps)
        self._arrived: dict[int, Array] = {}
        """By the number of a barrier, what each warp knew when it arrived there; zero if it has not."""
        self._fenced: Array = np.zeros_like(self._known)
        """What each warp knew at its last fence: what it may hand on by a flag."""

    def _may_be_unordered(self, block: Array, threads: tuple[Array, Array], clock: Array) -> Value:
        mine, other = threads[0] // WARP, threads[1] // WARP
        return (mine == other) | (clock > self._known[block, mine, other])

    def pass_all(self, rows: Array | None) -> None:
        """As for `BlockEpochs`."""
        everybody = np.zeros(self._clock.shape, dtype=np.bool_)
        everybody[slice(None) if rows is None else rows] = True
        self._known = np.where(everybody[:, :, None], self._joined(everybody)[:, None, :], self._known)
        self._meet_whole(everybody)

    def of_others(self, block: Array, warp: Array) -> Array:
        """For each lane, the clocks of all warps as its own warp knows them."""
        found: Array = self._known[block, warp]
        return found

    def arrive(self, number: int, came: Array) -> None:
        """Warps (blocks × warps) that come to a barrier and go on without waiting.

        Who comes again before the barrier is passed has run ahead: what it did since is not handed on.
        """
        knew = self._arrived.setdefault(number, np.zeros_like(self._known))
        first = came & ~knew.any(axis=2)
        knew[first] = self._knowledge()[first]
        self._clock += came

    def meet(self, number: int, waited: Array) -> None:
        """Warps (blocks × warps) that waited at a barrier may pass it."""
        together = self._joined(waited)
        early = self._arrived.get(number)
        if early is not None:
            together = np.maximum(together, early.max(axis=1))
            early[waited.any(axis=1)] = 0
        learnt = np.where(waited[:, :, None], together[:, None, :], 0)
        self._known = np.maximum(self._known, learnt)
        self._meet_whole(waited)

    def fence(self, lanes: Lanes) -> None:
        """What these warps did so far may be handed on by what they write from now on."""
        rows, here = self._warps_of(lanes)
        self._fenced[rows] = np.where(here[:, :, None], self._knowledge()[rows], self._fenced[rows])
        self._clock[rows] += here

    def handed_on(self, block: Array, warp: Array) -> Array:
        """For each lane, the clocks that its warp may hand on; all zero if it has come to no fence."""
        found: Array = self._fenced[block, warp]
        return found

    def learn(self, block: Array, thread: Array, clocks: Array) -> None:
        """Each of some lanes finds what was handed on; so does its warp, and of its own warp the lane."""
        warp = thread // WARP
        raise_rows(self._known, block * self.num_warps + warp, clocks)
        own = clocks[np.arange(warp.size), warp]
        if own.any():
            row = (block * self.num_warps + warp) * WARP + thread % WARP
            raise_rows(self._pairs_of_lanes(), row, np.broadcast_to(own[:, None], (own.size, WARP)))

    def _knowledge(self) -> Array:
        self._known[:, self._diagonal, self._diagonal] = self._clock
        return self._known

    def _joined(self, warps: Array) -> Array:
        """What some warps of each block know together."""
        found: Array = np.where(warps[:, :, None], self._knowledge(), 0).max(axis=1)
        return found

    def _meet_whole(self, warps: Array) -> None:
        self._clock += warps
        self._all_met = np.where(warps, self._clock, self._all_met)


def raise_rows(table: Array, row: Array, least: Array) -> None:
    """No row of a table, counted over all but its last axis, has less than any of what it is given."""
    order = np.argsort(row, kind="stable")
    starts = np.flatnonzero(np.concatenate(([True], np.diff(row[order]) != 0)))
    at, flat = row[order[starts]], table.reshape(-1, table.shape[-1])
    flat[at] = np.maximum(flat[at], np.maximum.reduceat(least[order], starts, axis=0))


def _at(clocks: Array, block: Array, warp: Array | int) -> Value:
    """By lane, or one for all, out of an array that has one row or one column where all are alike."""
    if clocks.size == 1:
        return np.int64(clocks[0, 0])
    return np.asarray(clocks[block if clocks.shape[0] > 1 else 0, warp if clocks.shape[1] > 1 else 0])
