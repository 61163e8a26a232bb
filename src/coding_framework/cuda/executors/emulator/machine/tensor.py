"""Products of 16 x 16 matrices that a warp holds in its registers (`wmma`).

Guarantees: a product is formed in float64 and rounded once to the type of the result, so it is at least
as near the truth as hardware, whose order of summation is not published. A warp in which a lane is
missing gets NaN: hardware's result is undefined there, and a kernel must not pass by luck. Wide
accesses must be aligned to 16 bytes, where CUDA asks for 32.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from coding_framework.cuda.executors.emulator.dtypes import Array, Value
from coding_framework.cuda.executors.emulator.machine.geometry import WARP
from coding_framework.cuda.executors.emulator.machine.lanes import Lanes
from coding_framework.cuda.executors.emulator.ops import half
from coding_framework.cuda.executors.emulator.program.fragment import EDGE, PER_LANE, Fragment

if TYPE_CHECKING:
    from coding_framework.cuda.executors.emulator.machine.machine import Machine

Registers = tuple[Value, ...]
Form = tuple[tuple[str, str], str, str, str]
"""Layouts of the factors; types of the factors, of what is added and of the result."""
_SHARERS = EDGE // PER_LANE
"""Lanes that share a line."""


class TensorUnit:
    """Loads, stores and multiplies fragments."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def load(self, lanes: Lanes, address: Value, stride: Value, fragment: Fragment) -> Registers:
        pieces: list[Value] = []
        for access, place in zip(fragment.accesses, _places(lanes, stride, fragment), strict=True):
            pieces += getattr(self._machine, f"load_{access.space}")(lanes, address + place, access, None)
        if not fragment.by_lines and fragment.kind != "f32":
            pieces = [half.pack(pieces[i], pieces[i + 1]) for i in range(0, PER_LANE, 2)]
        return tuple(pieces) * fragment.num_copies

    def store(
        self, lanes: Lanes, address: Value, stride: Value, values: Registers, fragment: Fragment
    ) -> None:
        pieces = list(values)
        if not fragment.by_lines and fragment.kind != "f32":
            pieces = [part for pair in values for part in half.unpack(pair)]
        for access, place in zip(fragment.accesses, _places(lanes, stride, fragment), strict=True):
            taken, pieces = pieces[: access.count], pieces[access.count :]
            write = getattr(self._machine, f"store_{access.space}")
            write(lanes, address + place, tuple(taken), access, None)

    def multiply(self, lanes: Lanes, a: Registers, b: Registers, c: Registers, form: Form) -> Registers:
        layouts, factor, added, result = form
        left, right = (
            matrix if layout == "row" else matrix.swapaxes(-1, -2)
            for matrix, layout in zip(
                (_matrix(lanes, a, factor), _matrix(lanes, b, factor)), layouts, strict=True
            )
        )
        total = left @ right + _matrix(lanes, c, added)
        active = lanes.active_in_warps
        if active is not None:
            total = np.where(np.asarray(active.all(axis=-1))[..., None, None], total, np.nan)
        return _registers(lanes, total, result)


def _places(lanes: Lanes, stride: Value, fragment: Fragment) -> list[Value]:
    """Byte offsets of a lane's accesses from the matrix's first element."""
    lane = lanes.base.thread % WARP
    line, first = lane // _SHARERS, lane % _SHARERS * PER_LANE
    size = np.int64(fragment.element_bytes)
    wide = stride.astype(np.int64)
    if not fragment.by_lines:
        return [((first + e) * wide + line) * size for e in range(PER_LANE)]
    start = (line * wide + first) * size
    step = fragment.accesses[0].num_bytes
    return [start + np.int64(step * number) for number in range(len(fragment.accesses))]


def _matrix(lanes: Lanes, registers: Registers, kind: str) -> Array:
    """The registers of whole warps as (r, W, 16, 16) in float64."""
    if kind == "f32":
        values = list(registers)
    else:
        pairs = [half.unpack(pair) for pair in registers[: PER_LANE // 2]]
        values = [half.decode(np.asarray(part), kind) for pair in pairs for part in pair]
    rows = np.broadcast_arrays(*(lanes.base.to_warps(value) for value in values))
    stacked = np.stack(rows, axis=-1).astype(np.float64)
    return stacked.reshape(*stacked.shape[:2], EDGE, EDGE)


def _registers(lanes: Lanes, matrix: Array, kind: str) -> Registers:
    held = matrix.reshape(*matrix.shape[:2], WARP, PER_LANE)
    elements = [lanes.base.from_warps(held[..., e]) for e in range(PER_LANE)]
    if kind == "f32":
        return tuple(element.astype(np.float32) for element in elements)
    raw = [half.encode(element, kind) for element in elements]
    return tuple(half.pack(raw[i], raw[i + 1]) for i in range(0, PER_LANE, 2))
