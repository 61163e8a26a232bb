"""Instructions in which the lanes of a warp take part together.

A source lane that is not active gives a poison value (a NaN as float32): the hardware's result is
undefined there, and a kernel must not pass by luck.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from coding_framework.cuda.executors.emulator.dtypes import Array, Value
from coding_framework.cuda.executors.emulator.machine.geometry import WARP
from coding_framework.cuda.executors.emulator.machine.lanes import Lanes

POISON = np.int32(0x7FE1DEAD)
LANE = np.arange(WARP, dtype=np.int32)
BITS = np.uint32(1) << np.arange(WARP, dtype=np.uint32)


class WarpUnit:
    """Shuffles, votes, matches and reductions."""

    def shuffle(
        self, lanes: Lanes, mode: str, a: Value, b: Value, c: Value, members: Value
    ) -> tuple[Value, Value]:
        """The value of the source lane, and whether that lane is in range."""
        if b.ndim == 0 and c.ndim == 0:
            source, valid = source_lanes(mode, int(b), int(c))
        else:
            source, valid = _source(mode, lanes.base.to_warps(b), lanes.base.to_warps(c))
        active = lanes.active_in_warps
        in_range = lanes.base.from_warps(np.broadcast_to(valid, (*self._rows(lanes, valid), WARP)))
        if a.ndim == 0 or a.shape[1] == 1:
            if active is None:
                return a, in_range
            a = np.broadcast_to(a, (a.shape[0] if a.ndim else 1, lanes.base.shape[1]))
        rows = lanes.base.to_warps(a)
        result = _gather(rows, source)
        if active is not None:
            result = np.where(_gather(active, source), result, POISON)
        return lanes.base.from_warps(result), in_range

    @staticmethod
    def _rows(lanes: Lanes, valid: Array) -> tuple[int, int]:
        return (valid.shape[0] if valid.ndim == 3 else 1), lanes.base.num_warp_columns

    def _participants(self, lanes: Lanes, members: Value) -> Value:
        """(r, W, 32): active lanes that the executing lane names; members are alike in a warp."""
        named = (lanes.base.to_warps(members) & BITS) != 0
        active = lanes.active_in_warps
        return named if active is None else named & active

    def vote(self, lanes: Lanes, mode: str, predicate: Value, members: Value) -> Value:
        taking_part = self._participants(lanes, lanes.safe(members))
        yes = lanes.base.to_warps(predicate)
        if mode == "ballot":
            return lanes.base.spread(
                np.where(yes & taking_part, BITS, np.uint32(0)).sum(axis=-1, dtype=np.uint32)
            )
        some, every = (yes & taking_part).any(axis=-1), (yes | ~taking_part).all(axis=-1)
        if mode == "any":
            return lanes.base.spread(some)
        return lanes.base.spread(every if mode == "all" else every | ~some)

    def match(self, lanes: Lanes, mode: str, a: Value, members: Value) -> tuple[Value, Value]:
        taking_part = self._participants(lanes, lanes.safe(members))
        rows = lanes.base.to_warps(a)
        rows, taking_part = np.broadcast_arrays(rows, taking_part)
        same = (rows[..., :, None] == rows[..., None, :]) & taking_part[..., None, :]
        masks = np.where(same, BITS, np.uint32(0)).sum(axis=-1, dtype=np.uint32)
        if mode == "any":
            return lanes.base.from_warps(masks), np.bool_(True)
        whole = np.where(taking_part, BITS, np.uint32(0)).sum(axis=-1, dtype=np.uint32)[..., None]
        agreed = masks == whole
        return lanes.base.from_warps(np.where(agreed, whole, np.uint32(0))), lanes.base.from_warps(agreed)

    def reduce(self, lanes: Lanes, operation: str, a: Value, members: Value) -> Value:
        taking_part = self._participants(lanes, lanes.safe(members))
        rows, taking_part = np.broadcast_arrays(lanes.base.to_warps(a), taking_part)
        function, neutral = _reduction(operation, a.dtype)
        return lanes.base.spread(
            function.reduce(np.where(taking_part, rows, neutral), axis=-1, dtype=rows.dtype)
        )

    def active_mask(self, lanes: Lanes) -> Value:
        active = lanes.active_in_warps
        if active is None:
            return np.uint32(0xFFFFFFFF)
        return lanes.base.spread(np.where(active, BITS, np.uint32(0)).sum(axis=-1, dtype=np.uint32))


@lru_cache(maxsize=512)
def source_lanes(mode: str, b: int, c: int) -> tuple[Array, Array]:
    """For each lane of a warp, the lane it reads and whether that was in range."""
    return _source(mode, np.int32(b), np.int32(c))


def _source(mode: str, b: Value, c: Value) -> tuple[Array, Array]:
    offset, clamp, segment = b & np.int32(31), c & np.int32(31), (c >> np.int32(8)) & np.int32(31)
    highest = (LANE & segment) | (clamp & ~segment)
    if mode == "up":
        source = LANE - offset
        valid = source >= highest
    elif mode == "idx":
        source = (LANE & segment) | (offset & ~segment)
        valid = source <= highest
    else:
        source = LANE + offset if mode == "down" else LANE ^ offset
        valid = source <= highest
    return np.where(valid, source, LANE).astype(np.int64), valid


def _gather(rows: Array, source: Array) -> Array:
    if source.ndim == 1:
        return rows[..., source]
    rows, source = np.broadcast_arrays(rows, source)
    return np.take_along_axis(rows, source, axis=-1)


def _reduction(operation: str, dtype: np.dtype[np.generic]) -> tuple[np.ufunc, Value]:
    limits = np.iinfo(dtype)  # type: ignore[type-var]
    table: dict[str, tuple[np.ufunc, int]] = {
        "add": (np.add, 0),
        "min": (np.minimum, int(limits.max)),
        "max": (np.maximum, int(limits.min)),
        "and": (np.bitwise_and, -1 if dtype.kind == "i" else int(limits.max)),
        "or": (np.bitwise_or, 0),
        "xor": (np.bitwise_xor, 0),
    }
    function, neutral = table[operation]
    return function, dtype.type(neutral)
