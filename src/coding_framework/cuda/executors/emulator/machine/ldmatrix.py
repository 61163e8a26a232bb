"""Loads of 8 x 8 matrices of 16-bit elements from shared memory, spread over a warp (`ldmatrix`).

Lanes 8i to 8i + 7 give the addresses of the lines of matrix i, sixteen bytes each; the addresses of the
other lanes are not looked at. Lane l gets elements 2(l % 4) and the next of line l // 4 in one register
a matrix, and with `.trans` the same elements of column l // 4: the arrangement of the factors of `mma`.

Guarantees: a line is read by the lane that gives its address, all sixteen bytes of it, so that bounds,
alignment, races and passes are those of an ordinary load of that width by these lanes. A warp in which a
lane is missing gets NaN, because hardware's result is undefined there. Conflicts of an `ldmatrix` with
writes of lanes of its own warp are not found, as for other loads.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coding_framework.cuda.executors.emulator.dtypes import Array, Value
from coding_framework.cuda.executors.emulator.machine.geometry import WARP
from coding_framework.cuda.executors.emulator.machine.lanes import Lanes
from coding_framework.cuda.executors.emulator.machine.shared_space import SharedSpace
from coding_framework.cuda.executors.emulator.ops import half
from coding_framework.cuda.executors.emulator.program.access import Access

EDGE = 8
"""Lines and columns of a matrix."""
_NO_NUMBER = np.int32(0x7FFF7FFF)
"""NaN as two float16, as two bfloat16 and as float32."""
_LANE = np.arange(WARP)
_GROUP, _MEMBER = _LANE // 4, _LANE % 4


@dataclass(frozen=True)
class MatrixLoad:
    """One form of `ldmatrix.m8n8`."""

    access: Access
    """What a lane that gives an address reads: a line."""
    num_matrices: int
    """1, 2 or 4."""
    transposed: bool

    def load(self, space: SharedSpace, lanes: Lanes, address: Value) -> tuple[Value, ...]:
        """One register of two elements for each matrix."""
        readers = lanes
        if self.access.num_lanes < WARP:
            readers = lanes.narrowed(lanes.base.thread % WARP < self.access.num_lanes)
        if not readers.count:
            return (_NO_NUMBER,) * self.num_matrices
        words = _lines(lanes, space.load(readers, address, self.access))
        active = lanes.active_in_warps
        found = []
        for number in range(self.num_matrices):
            pairs = (_columns if self.transposed else _rows)(words, EDGE * number)
            if active is not None:
                pairs = np.where(active.all(axis=-1, keepdims=True), pairs, _NO_NUMBER)
            found.append(lanes.base.from_warps(pairs))
        return tuple(found)


def _lines(lanes: Lanes, words: tuple[Value, ...]) -> Array:
    """(r, W, 32, 4): the words that each lane of each warp has read."""
    return np.stack(np.broadcast_arrays(*(lanes.base.to_warps(word) for word in words)), axis=-1)


def _rows(words: Array, first: int) -> Array:
    """(r, W, 32): two neighbours of the line that is a lane's own."""
    return np.asarray(words[..., first + _GROUP, _MEMBER])


def _columns(words: Array, first: int) -> Array:
    """(r, W, 32): two neighbours of a lane's own column, which two lines hold."""
    elements = words.view(np.int16)
    upper, lower = (elements[..., first + 2 * _MEMBER + e, _GROUP] for e in (0, 1))
    return np.asarray(half.pack(np.ascontiguousarray(upper), np.ascontiguousarray(lower)))
