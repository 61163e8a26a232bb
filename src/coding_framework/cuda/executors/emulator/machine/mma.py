"""Products of small matrices whose arrangement over the lanes of a warp PTX fixes (`mma`).

Lane l is number t = l % 4 of group g = l // 4. A register of a factor holds two halves that are
neighbours along k, or one tf32: of the left factor (16 x k) those of line g or g + 8, of the right one
(k x 8) those of column g, each starting at 2t or 2t + 8 (halves), t or t + 4 (tf32). A result (16 x 8)
has columns 2t and 2t + 1 of lines g and g + 8.

Guarantees: a product is formed in float64 and rounded once to the type of the result, so it is at least
as near the truth as hardware, whose order of summation is not published. A warp in which a lane is
missing gets NaN, because hardware's result is undefined there. Factors of tf32 are cut to ten bits of
mantissa, as hardware does with what was not rounded before (`ops.tf32`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coding_framework.cuda.executors.emulator.dtypes import Array, Value
from coding_framework.cuda.executors.emulator.machine.geometry import WARP
from coding_framework.cuda.executors.emulator.machine.lanes import Lanes
from coding_framework.cuda.executors.emulator.ops import half, tf32

Registers = tuple[Value, ...]
ROWS, COLUMNS = 16, 8
"""Extents of the result."""
_LANE = np.arange(WARP)
_GROUP, _MEMBER = _LANE // 4, _LANE % 4


@dataclass(frozen=True)
class Product:
    """One form of `mma.m16n8k*`: d = a * b + c."""

    depth: int
    """Extent that is summed over: 4, 8 or 16."""
    factor: str
    """f16, bf16 or tf32."""
    total: str
    """f32 or f16: what is added and what comes out."""

    def multiply(self, lanes: Lanes, a: Registers, b: Registers, c: Registers) -> Registers:
        pair = 1 if self.factor == "tf32" else 2
        left = _matrix(lanes, a, self.factor, _left_places(self.depth, pair), (ROWS, self.depth))
        right = _matrix(lanes, b, self.factor, _right_places(self.depth, pair), (self.depth, COLUMNS))
        total = left @ right + _matrix(lanes, c, self.total, _result_places(), (ROWS, COLUMNS))
        active = lanes.active_in_warps
        if active is not None:
            total = np.where(np.asarray(active.all(axis=-1))[..., None, None], total, np.nan)
        held = total[..., *_result_places()]
        elements = [lanes.base.from_warps(held[..., e]) for e in range(held.shape[-1])]
        if self.total == "f32":
            return tuple(element.astype(np.float32) for element in elements)
        raw = [half.encode(element, self.total) for element in elements]
        return half.pack(raw[0], raw[1]), half.pack(raw[2], raw[3])


def _table(elements: list[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Line and column of every element of every lane, each (32, E)."""
    lines, columns = zip(*elements, strict=True)
    return np.stack(lines, axis=-1), np.stack(columns, axis=-1)


def _left_places(depth: int, pair: int) -> tuple[Array, Array]:
    """`pair` elements along k share a register."""
    steps = range(0, depth, 4 * pair)
    registers = [(_GROUP + down, pair * _MEMBER + right) for right in steps for down in (0, 8)]
    return _table([(line, column + e) for line, column in registers for e in range(pair)])


def _right_places(depth: int, pair: int) -> tuple[Array, Array]:
    steps = range(0, depth, 4 * pair)
    return _table([(pair * _MEMBER + down + e, _GROUP) for down in steps for e in range(pair)])


def _result_places() -> tuple[Array, Array]:
    return _table([(_GROUP + down, 2 * _MEMBER + e) for down in (0, 8) for e in (0, 1)])


def _matrix(
    lanes: Lanes, registers: Registers, kind: str, places: tuple[Array, Array], extents: tuple[int, int]
) -> Array:
    """The registers of whole warps as (r, W, lines, columns) in float64."""
    values = list(registers)
    if kind == "tf32":
        values = [tf32.decode(register) for register in registers]
    elif kind != "f32":
        values = [half.decode(np.asarray(part), kind) for pair in registers for part in half.unpack(pair)]
    rows = np.broadcast_arrays(*(lanes.base.to_warps(value) for value in values))
    held = np.stack(rows, axis=-1).astype(np.float64)
    matrix = np.empty((*held.shape[:2], *extents))
    matrix[..., *places] = held
    return matrix
