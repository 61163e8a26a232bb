"""A group: lanes at one place of the program, with their registers.

Register values are never changed in place, so groups share them freely; a merge touches only the
registers that are live where the groups meet.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import numpy as np

from coding_framework.cuda.executors.emulator.dtypes import STORAGE, Array, Value
from coding_framework.cuda.executors.emulator.machine.lanes import Base, Lanes
from coding_framework.cuda.executors.unwritten import Unwritten

Registers = list[Value]


@lru_cache(maxsize=4)
def unwritten(types: tuple[str, ...], garbage: int) -> tuple[Value, ...]:
    """What registers of these types hold before they are written.

    Each holds something else, so that nothing can be made of their differences; as float32 all are NaN.
    """
    words = Unwritten(garbage, "registers").words(len(types))
    pairs = np.repeat(words, 2).view(np.uint64)
    found: dict[str, Array] = {
        "bool": words & 2 != 0,
        "i16": words.astype(np.uint16).view(np.int16),
        "i32": words.view(np.int32),
        "f32": words.view(np.float32),
        "i64": pairs.view(np.int64),
        "f64": pairs.view(np.float64),
    }
    return tuple(found[STORAGE[kind]][index] for index, kind in enumerate(types))


class Group:
    """Lanes that run together; `pc` is the block they are about to run."""

    __slots__ = ("asleep_at", "barrier", "charged", "lanes", "line", "origin", "pc", "pending", "registers")

    def __init__(self, pc: int, lanes: Lanes, registers: Registers) -> None:
        self.pc = pc
        self.lanes = lanes
        self.registers = registers
        self.pending: dict[int, int] = {}
        """How often it ran each block of the program since that was last added to the warps' own counts."""
        self.charged = 0.0
        """Clocks of these that are already part of the warps' ways."""
        self.barrier: tuple[Value, Value | None, bool, tuple[str, Value] | None] | None = None
        self.line: int | None = None
        self.asleep_at: int | None = None
        """The count of changes at which it was found to do nothing but wait."""
        self.origin: tuple[Base, dict[int, tuple[Value, Value]]] | None = None
        """Of a listed group: the base it came from, and each register then, listed and whole."""

    def part(self, pc: int, lanes: Lanes) -> Group:
        """Some of its lanes, elsewhere."""
        part = Group(pc, lanes, self.registers.copy())
        part.origin = self.origin
        return part

    def compacted(self, live: Iterable[int]) -> Group:
        """The same lanes in a list base, for few lanes out of many."""
        lanes, base = self.lanes, self.lanes.base
        listed = Base(
            base.geometry,
            lanes.compress(base.block)[None, :],
            lanes.compress(base.thread)[None, :],
            True,
        )
        registers = self.registers.copy()
        whole: dict[int, tuple[Value, Value]] = {}
        for index in live:
            value = registers[index]
            if value.ndim:
                registers[index] = lanes.compress(value)[None, :]
                whole[index] = (registers[index], value)
        group = Group(self.pc, Lanes(listed), registers)
        group.origin = None if base.is_list else (base, whole)
        return group

    def on_base(self, base: Base, live: Iterable[int]) -> Group:
        """The same lanes laid out on the family's base."""
        if self.lanes.base is base:
            return self
        ids = np.searchsorted(base.lane_ids.reshape(-1), self.lanes.lane_ids)
        mask = np.zeros(base.size, dtype=np.bool_)
        mask[ids] = True
        registers = self.registers.copy()
        before = self.origin[1] if self.origin is not None and self.origin[0] is base else {}
        for index in live:
            value = registers[index]
            if index in before and before[index][0] is value:
                registers[index] = before[index][1]
            elif value.ndim:
                whole = np.zeros(base.size, dtype=value.dtype)
                whole[ids] = self.lanes.compress(value)
                registers[index] = whole.reshape(base.shape)
        return Group(self.pc, Lanes(base, mask.reshape(base.shape)), registers)


def merge(first: Group, second: Group, base: Base, live: Iterable[int]) -> Group:
    """Two groups at one place become one."""
    if first.lanes.base is not second.lanes.base:
        first, second = first.on_base(base, live), second.on_base(base, live)
    registers = first.registers.copy()
    ours = first.lanes.full_mask if first.lanes.mask is None else first.lanes.mask
    for index in live:
        a, b = registers[index], second.registers[index]
        if a is b or (a.ndim == 0 and b.ndim == 0 and a.tobytes() == b.tobytes()):
            continue
        registers[index] = np.where(ours, a, b)
    theirs = second.lanes.full_mask if second.lanes.mask is None else second.lanes.mask
    mask = ours | theirs
    lanes = Lanes(first.lanes.base, None if mask.all() else mask)
    merged = Group(first.pc, lanes, registers)
    merged.barrier, merged.line = first.barrier, first.line
    return merged
