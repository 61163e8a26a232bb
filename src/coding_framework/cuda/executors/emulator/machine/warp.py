"""Instructions in which the lanes of a warp take part together.

A source lane that is not active, or that the mask does not name, gives a value that means nothing: the
hardware's result is undefined there, and a kernel must not pass by luck. It is a NaN, a huge number or its
opposite, so that neither a sum nor a maximum nor a minimum swallows all of them (without the strict memory
model it is the lane's own value, as for a source that is out of range). A mask that does not
name the lane which takes part with it, or lanes that take part together under different masks, are
undefined altogether.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from coding_framework.cuda.executors.base import FaultKind
from coding_framework.cuda.executors.emulator.dtypes import Array, Value
from coding_framework.cuda.executors.emulator.faults import KernelFault
from coding_framework.cuda.executors.emulator.machine.geometry import WARP
from coding_framework.cuda.executors.emulator.machine.lanes import Lanes
from coding_framework.cuda.executors.emulator.machine.undefined import Undefined

POISON = np.array([0x7FE1DEAD, 0x7F61DEAD, 0xFF61DEAD], dtype=np.uint32).view(np.int32)
LANE = np.arange(WARP, dtype=np.int32)
BITS = np.uint32(1) << np.arange(WARP, dtype=np.uint32)
ALL_LANES = np.uint32(0xFFFFFFFF)


class WarpUnit:
    """Shuffles, votes, matches and reductions."""

    def __init__(self, undefined: Undefined, garbage: int) -> None:
        self._undefined = undefined
        self._turn = garbage % POISON.size
        self._looked_at: tuple[Lanes, Value] | None = None

    def require_named(self, lanes: Lanes, members: Value, what: tuple[int | None, str]) -> None:
        """Every active lane names itself, and has the mask of all others that it names."""
        if self._looked_at is not None and self._looked_at[0] is lanes and self._looked_at[1] is members:
            return
        self._looked_at = (lanes, members)
        if not lanes.count or (lanes.compress(members) == ALL_LANES).all():
            return
        masks = lanes.warp_rows(members)
        active = np.broadcast_to(_or_all(lanes.active_in_warps), masks.shape)
        unnamed = active & ((masks & BITS) == 0)
        if unnamed.any():
            self._undefined.meet(_wrong_mask(lanes, members, unnamed, what, "does not name that thread"))
        elif (masks != masks[..., :1]).any():
            unlike = masks[..., None] != masks[..., None, :]
            unlike &= ((masks[..., None] & BITS) != 0) & (active[..., None] & active[..., None, :])
            if unlike.any():
                words = "names threads that come with another mask"
                self._undefined.meet(_wrong_mask(lanes, members, unlike.any(axis=-1), what, words))

    def shuffle(
        self, lanes: Lanes, mode: str, a: Value, b: Value, c: Value, members: Value, line: int | None
    ) -> tuple[Value, Value]:
        """The value of the source lane, and whether that lane is in range."""
        if b.ndim == 0 and c.ndim == 0:
            source, valid = source_lanes(mode, int(b), int(c))
        else:
            source, valid = _source(mode, lanes.base.to_warps(b), lanes.base.to_warps(c))
        in_range = lanes.base.from_warps(np.broadcast_to(valid, (*self._rows(lanes, valid), WARP)))
        there = self._takes_part(lanes, source, members)
        if there is None and (a.ndim == 0 or a.shape[1] == 1):
            return a, in_range
        rows = lanes.base.to_warps(np.broadcast_to(a, (a.shape[0] if a.ndim else 1, lanes.base.shape[1])))
        result = _gather(rows, source)
        if there is not None:
            result = np.where(there, result, self._undefined_values(lanes, rows, there, line))
        return lanes.base.from_warps(result), in_range

    def _takes_part(self, lanes: Lanes, source: Array, members: Value) -> Array | None:
        """Whether the lane that each lane reads is active and named; None if all are."""
        active = lanes.active_in_warps
        there = None if active is None else _gather(active, source)
        if not self._undefined.is_strict or (members.ndim == 0 and members == ALL_LANES):
            return there
        named: Array = (lanes.base.to_warps(members) >> source.astype(np.uint32) & np.uint32(1)) != 0
        return named if there is None else named & there

    def _undefined_values(self, lanes: Lanes, own: Array, there: Array, line: int | None) -> Array:
        """What a lane gets from one that takes no part: another kind each time, or its own value again."""
        if (_or_all(lanes.active_in_warps) & ~there).any():
            self._undefined.read_from_nobody(line)
        if not self._undefined.is_strict:
            return own
        self._turn = (self._turn + 1) % POISON.size
        found: Array = POISON[(self._turn + LANE) % POISON.size]
        return found

    @staticmethod
    def _rows(lanes: Lanes, valid: Array) -> tuple[int, int]:
        return (valid.shape[0] if valid.ndim == 3 else 1), lanes.base.num_warp_columns

    def _participants(self, lanes: Lanes, members: Value) -> Array:
        """(r, W, 1 or 32, 32): the active lanes that each lane names; one line where all name the same."""
        masks = lanes.warp_rows(members)[..., None]
        if (masks == masks[..., :1, :]).all():
            masks = masks[..., :1, :]
        named: Array = (masks & BITS) != 0
        active = lanes.active_in_warps
        return named if active is None else named & active[..., None, :]

    @staticmethod
    def _to_lanes(lanes: Lanes, found: Value) -> Value:
        """(r, W, 1 or 32) to the lanes."""
        return lanes.base.from_warps(np.broadcast_to(found, (*found.shape[:2], WARP)))

    def vote(self, lanes: Lanes, mode: str, predicate: Value, members: Value) -> Value:
        taking_part = self._participants(lanes, members)
        yes = lanes.base.to_warps(predicate)[..., None, :]
        if mode == "ballot":
            return self._to_lanes(lanes, _mask_of(yes & taking_part))
        some, every = (yes & taking_part).any(axis=-1), (yes | ~taking_part).all(axis=-1)
        if mode == "any":
            return self._to_lanes(lanes, some)
        return self._to_lanes(lanes, every if mode == "all" else every | ~some)

    def match(self, lanes: Lanes, mode: str, a: Value, members: Value) -> tuple[Value, Value]:
        taking_part = self._participants(lanes, members)
        rows = lanes.base.to_warps(a)
        masks = _mask_of((rows[..., :, None] == rows[..., None, :]) & taking_part)
        if mode == "any":
            return lanes.base.from_warps(masks), np.bool_(True)
        whole = _mask_of(taking_part)
        agreed = masks == whole
        return lanes.base.from_warps(np.where(agreed, whole, np.uint32(0))), lanes.base.from_warps(agreed)

    def reduce(self, lanes: Lanes, operation: str, a: Value, members: Value) -> Value:
        taking_part = self._participants(lanes, members)
        rows = lanes.base.to_warps(a)[..., None, :]
        function, neutral = _reduction(operation, a.dtype)
        found = function.reduce(np.where(taking_part, rows, neutral), axis=-1, dtype=rows.dtype)
        return self._to_lanes(lanes, found)

    def elect(self, lanes: Lanes, members: Value) -> tuple[Value, Value]:
        """The lowest of those that take part, and whether a lane is it."""
        chosen = self._participants(lanes, members).argmax(axis=-1).astype(np.uint32)
        return self._to_lanes(lanes, chosen), self._to_lanes(lanes, chosen == LANE.astype(np.uint32))

    def active_mask(self, lanes: Lanes) -> Value:
        active = lanes.active_in_warps
        return ALL_LANES if active is None else lanes.base.spread(_mask_of(active))


def _mask_of(bits: Array) -> Array:
    """(..., 32) into one number."""
    found: Array = np.where(bits, BITS, np.uint32(0)).sum(axis=-1, dtype=np.uint32)
    return found


def _or_all(active: Array | None) -> Value:
    return np.bool_(True) if active is None else active


def _wrong_mask(
    lanes: Lanes, members: Value, at: Array, what: tuple[int | None, str], why: str
) -> KernelFault:
    """Words for the first lane whose mask is wrong."""
    line, name = what
    wrong = lanes.base.from_warps(at)
    mask = int(lanes.compress(members)[np.argmax(lanes.compress(wrong))])
    return KernelFault(
        FaultKind.UNDEFINED,
        f"undefined: {lanes.describe(wrong)} takes part in {name} on line {line} with the mask {mask:#010x}, "
        f"which {why}; all threads of a warp that take part together must give one mask, and it must name "
        "exactly them (__activemask() right before says who is there, __ballot_sync(…) who will be)",
        line,
    )


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
