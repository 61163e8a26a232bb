"""Products of small matrices that a warp holds in its registers (`wmma`).

Guarantees: a product is formed in float64 and rounded once to the type of the result, so it is at least
as near the truth as hardware, whose order of summation is not published. A warp in which a lane is
missing gets NaN: hardware's result is undefined there, and a kernel must not pass by luck. Wide
accesses must be aligned to 16 bytes, where CUDA asks for 32. Factors of tf32 are cut to ten bits of
mantissa, as hardware does with what was not rounded before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from coding_framework.cuda.executors.emulator.dtypes import Array, Value
from coding_framework.cuda.executors.emulator.machine.geometry import WARP
from coding_framework.cuda.executors.emulator.machine.lanes import Lanes
from coding_framework.cuda.executors.emulator.ops import half, tf32
from coding_framework.cuda.executors.emulator.program.fragment import EDGE, Fragment, line_length

if TYPE_CHECKING:
    from coding_framework.cuda.executors.emulator.machine.machine import Machine

Registers = tuple[Value, ...]
Form = tuple[tuple[str, str], int, str, str, str]
"""Layouts and depth of the factors; types of the factors, of what is added and of the result."""
_PER_LANE = EDGE * EDGE // WARP
"""Elements of a result, and of a factor of halves, that a lane holds."""


class TensorUnit:
    """Loads, stores and multiplies fragments."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def load(self, lanes: Lanes, address: Value, stride: Value, fragment: Fragment) -> Registers:
        pieces: list[Value] = []
        for access, place in zip(fragment.accesses, _places(lanes, stride, fragment), strict=True):
            pieces += getattr(self._machine, f"load_{access.space}")(lanes, address + place, access, None)
        if not fragment.by_lines and fragment.kind != "f32":
            pieces = [half.pack(pieces[i], pieces[i + 1]) for i in range(0, fragment.per_lane, 2)]
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
        layouts, depth, factor, added, result = form
        lengths = [line_length(role, layout, depth) for role, layout in zip("ab", layouts, strict=True)]
        left, right = (
            matrix if layout == "row" else matrix.swapaxes(-1, -2)
            for matrix, layout in zip(
                (_matrix(lanes, a, factor, lengths[0]), _matrix(lanes, b, factor, lengths[1])),
                layouts,
                strict=True,
            )
        )
        total = left @ right + _matrix(lanes, c, added, EDGE)
        active = lanes.active_in_warps
        if active is not None:
            total = np.where(np.asarray(active.all(axis=-1))[..., None, None], total, np.nan)
        return _registers(lanes, total, result)


def _places(lanes: Lanes, stride: Value, fragment: Fragment) -> list[Value]:
    """Byte offsets of a lane's accesses from the matrix's first element."""
    lane = lanes.base.thread % WARP
    sharers = fragment.line_length // fragment.per_lane
    """Lanes that share a line."""
    line, first = lane // sharers, lane % sharers * fragment.per_lane
    size = np.int64(fragment.element_bytes)
    wide = stride.astype(np.int64)
    if not fragment.by_lines:
        return [((first + e) * wide + line) * size for e in range(fragment.per_lane)]
    start = (line * wide + first) * size
    step = fragment.accesses[0].num_bytes
    return [start + np.int64(step * number) for number in range(len(fragment.accesses))]


def _matrix(lanes: Lanes, registers: Registers, kind: str, length: int) -> Array:
    """The registers of whole warps as (r, W, lines, length) in float64."""
    if kind == "f32":
        values = list(registers)
    elif kind == "tf32":
        values = [tf32.decode(register) for register in registers]
    else:
        pairs = [half.unpack(pair) for pair in registers[: _PER_LANE // 2]]
        values = [half.decode(np.asarray(part), kind) for pair in pairs for part in pair]
    rows = np.broadcast_arrays(*(lanes.base.to_warps(value) for value in values))
    stacked = np.stack(rows, axis=-1).astype(np.float64)
    return stacked.reshape(*stacked.shape[:2], -1, length)


def _registers(lanes: Lanes, matrix: Array, kind: str) -> Registers:
    held = matrix.reshape(*matrix.shape[:2], WARP, _PER_LANE)
    elements = [lanes.base.from_warps(held[..., e]) for e in range(_PER_LANE)]
    if kind == "f32":
        return tuple(element.astype(np.float32) for element in elements)
    raw = [half.encode(element, kind) for element in elements]
    return tuple(half.pack(raw[i], raw[i + 1]) for i in range(0, _PER_LANE, 2))
