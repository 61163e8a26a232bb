"""Sizes and zero rims that the sliding windows of this tier share.

Hidden: one pixel, a single row, images just past a block of 16 or 32 and of odd sizes, so that every
tile is cut somewhere. The rim is made of slices and joins alone, which all array libraries have.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

VISIBLE = ({"height": 64, "width": 64}, {"height": 40, "width": 100})
HIDDEN = (
    {"height": 1, "width": 1},
    {"height": 1, "width": 67},
    {"height": 34, "width": 19},
    {"height": 35, "width": 131},
    {"height": 101, "width": 2},
)
PLANES_VISIBLE = ({"planes": 4, "height": 32, "width": 32}, {"planes": 3, "height": 20, "width": 36})
PLANES_HIDDEN = (
    {"planes": 1, "height": 1, "width": 1},
    {"planes": 2, "height": 17, "width": 35},
    {"planes": 7, "height": 1, "width": 13},
    {"planes": 1, "height": 34, "width": 67},
    {"planes": 11, "height": 10, "width": 2},
)


def with_zero_rim(xp: ModuleType, x: Any, size: int, axes: tuple[int, ...]) -> Any:
    """`x` with `size` zeros before and after each of these (non-negative) axes."""
    for axis in axes:
        edge = xp.zeros_like(x[(*(slice(None),) * axis, slice(0, 1), ...)])
        x = xp.concat([edge] * size + [x] + [edge] * size, axis=axis)
    return x
