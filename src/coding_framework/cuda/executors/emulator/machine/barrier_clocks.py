"""Which accesses of a block's warps barriers have put in order.

`BlockEpochs` is for kernels whose barriers are all for the whole block: one number for each block says
it all. `WarpClocks` is for kernels with barriers for some of the threads (`bar.sync 1, 64`,
`bar.arrive`): each warp has a clock, and knows of every other warp's clock what it was when a chain of
barriers last led from there to here.

Guaranteed: a barrier puts in order what its participants did before it and what those that waited at it
do afterwards, and nothing else. Threads of a warp count as one, so a barrier that some of them pass
counts as passed by all.
"""

from __future__ import annotations

import numpy as np

from coding_framework.cuda.executors.emulator.dtypes import Array, Value


class BlockEpochs:
    """The number of barriers that a block has passed; one number while all blocks are alike."""

    def __init__(self, num_blocks: int) -> None:
        self._num_blocks = num_blocks
        self._epoch: Array = np.ones(1, dtype=np.int64)

    @property
    def are_alike(self) -> bool:
        return self._epoch.size == 1

    def now(self, block: Array, warp: Array) -> Array:
        """The clock that an access of a warp is marked with; blocks are numbered within the chunk."""
        found: Array = np.broadcast_to(self._epoch, block.shape) if self.are_alike else self._epoch[block]
        return found

    def unordered(self, block: Array, warps: tuple[Array, Array], clock: Array) -> Value:
        """Whether no barrier leads from what the second warp did at a clock to the first warp now."""
        return (warps[0] != warps[1]) & (clock == self.now(block, warps[0]))

    def pass_all(self, rows: Array | None) -> None:
        """All threads of all blocks, or of some, have met."""
        if rows is None:
            self._epoch = self._epoch + 1
        else:
            self._epoch = np.broadcast_to(self._epoch, (self._num_blocks,)).copy()
            self._epoch[rows] += 1


class WarpClocks:
    """Vector clocks: `known[block, warp, other]`, a warp's own clock on the diagonal."""

    def __init__(self, num_blocks: int, num_warps: int) -> None:
        self._known: Array = np.zeros((num_blocks, num_warps, num_warps), dtype=np.int64)
        self.num_warps = num_warps
        self._diagonal = np.arange(num_warps)
        self._known[:, self._diagonal, self._diagonal] = 1
        self._arrived: dict[int, Array] = {}
        """By the number of a barrier, what each warp knew when it arrived there; zero if it has not."""

    def now(self, block: Array, warp: Array) -> Array:
        """As for `BlockEpochs`, and so are the next two."""
        found: Array = self._known[block, warp, warp]
        return found

    def unordered(self, block: Array, warps: tuple[Array, Array], clock: Array) -> Value:
        return (warps[0] != warps[1]) & (clock > self._known[block, warps[0], warps[1]])

    def pass_all(self, rows: Array | None) -> None:
        everybody = np.zeros(self._known.shape[:2], dtype=np.bool_)
        everybody[slice(None) if rows is None else rows] = True
        self._known = np.where(everybody[:, :, None], self._joined(everybody)[:, None, :], self._known)
        self._tick(everybody)

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
        knew[first] = self._known[first]
        self._tick(came)

    def meet(self, number: int, waited: Array) -> None:
        """Warps (blocks × warps) that waited at a barrier may pass it."""
        together = self._joined(waited)
        early = self._arrived.get(number)
        if early is not None:
            together = np.maximum(together, early.max(axis=1))
            early[waited.any(axis=1)] = 0
        learnt = np.where(waited[:, :, None], together[:, None, :], 0)
        self._known = np.maximum(self._known, learnt)
        self._tick(waited)

    def _joined(self, warps: Array) -> Array:
        """What some warps of each block know together."""
        found: Array = np.where(warps[:, :, None], self._known, 0).max(axis=1)
        return found

    def _tick(self, warps: Array) -> None:
        self._known[:, self._diagonal, self._diagonal] += warps
