"""The shape of a launch and of the chunk of blocks that runs at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coding_framework.cuda.executors.base import Triple
from coding_framework.cuda.executors.emulator.dtypes import Array, Value

WARP = 32


@dataclass(frozen=True, eq=False)
class Geometry:
    """Some blocks of a grid, in any order."""

    grid: Triple
    block: Triple
    numbers: Array
    """The number within the grid of each block of the chunk."""

    @property
    def num_blocks(self) -> int:
        return int(self.numbers.size)

    @property
    def num_threads(self) -> int:
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def warps_per_block(self) -> int:
        return -(-self.num_threads // WARP)

    def block_coordinates(self, block: Value) -> tuple[Value, Value, Value]:
        """ctaid of chunk-local block numbers."""
        return coordinates(self.numbers[block], self.grid)

    def thread_coordinates(self, thread: Value) -> tuple[Value, Value, Value]:
        """tid of linear thread numbers."""
        return coordinates(thread, self.block)

    def describe(self, block: int, thread: int) -> str:
        """`block (1,0,0), thread (5,0,0)` for a chunk-local block number."""
        return describe_thread(int(self.numbers[block]), thread, self.grid, self.block)


def coordinates(linear: Value, extent: Triple) -> tuple[Value, Value, Value]:
    """x, y and z of linear numbers."""
    x, y, _ = extent
    return linear % x, linear // x % y, linear // (x * y)


def describe_thread(number: int, thread: int, grid: Triple, block: Triple) -> str:
    """`block (1,0,0), thread (5,0,0)` for the number of a block within its grid."""
    at, inside = coordinates(np.int64(number), grid), coordinates(np.int64(thread), block)
    return "block ({},{},{}), thread ({},{},{})".format(*at, *inside)
