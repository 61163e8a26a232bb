"""Sizes that the matrix products of this tier share.

Hidden: one element, a single column, a single row, and sizes just past a tile of 16, 32 or 64 that no
vector width divides. Timed: enough tiles of 32 to occupy a third of a large GPU's multiprocessors.
"""

from __future__ import annotations

VISIBLE = ({"m": 64, "n": 64, "k": 64}, {"m": 40, "n": 56, "k": 24})
HIDDEN = (
    {"m": 1, "n": 1, "k": 1},
    {"m": 17, "n": 33, "k": 65},
    {"m": 65, "n": 1, "k": 7},
    {"m": 1, "n": 70, "k": 33},
    {"m": 31, "n": 67, "k": 15},
)
TIMING = {"m": 256, "n": 256, "k": 64}
GPU_TIMING = {"m": 1024, "n": 1024, "k": 256}
