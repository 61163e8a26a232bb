"""The shape of a launch and of the chunk of blocks that runs at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coding_framework.cuda.executors.base import Triple
from coding_framework.cuda.executors.emulator.dtypes import Value

WARP = 32


@dataclass(frozen=True)
class Geometry:
    """Blocks `first` … `first + num_blocks - 1` of a grid."""

    grid: Triple
    block: Triple
    first: int
    num_blocks: int

    @property
    def num_threads(self) -> int:
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def warps_per_block(self) -> int:
        return -(-self.num_threads // WARP)

    def block_coordinates(self, block: Value) -> tuple[Value, Value, Value]:
        """ctaid of chunk-local block numbers."""
        linear = block + self.first
        x, y, _ = self.grid
        return linear % x, linear // x % y, linear // (x * y)

    def thread_coordinates(self, thread: Value) -> tuple[Value, Value, Value]:
        """tid of linear thread numbers."""
        x, y, _ = self.block
        return thread % x, thread // x % y, thread // (x * y)

    def describe(self, block: int, thread: int) -> str:
        """`block (1,0,0), thread (5,0,0)`."""
        at = self.block_coordinates(np.int64(block))
        inside = self.thread_coordinates(np.int64(thread))
        return "block ({},{},{}), thread ({},{},{})".format(*at, *inside)
