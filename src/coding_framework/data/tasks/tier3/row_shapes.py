"""Shapes for the row-wise tasks of this tier.

The judge repeats the hidden shape with the most elements for every distribution, and an emulated thread
that walks along a row costs as much as the row is long: so the largest shape here has short rows.
"""

from __future__ import annotations

ROWS_VISIBLE = ({"rows": 64, "cols": 96}, {"rows": 37, "cols": 100})
ROWS_HIDDEN = (
    {"rows": 1, "cols": 1},
    {"rows": 1, "cols": 259},
    {"rows": 129, "cols": 7},
    {"rows": 67, "cols": 65},
    {"rows": 6, "cols": 130},
)
"""One element, a row longer than a block, many short rows, rows that start unaligned, wide and low."""
