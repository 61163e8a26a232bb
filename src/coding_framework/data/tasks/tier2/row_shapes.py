"""Hidden sizes that the row by row tasks of this tier share.

One element, one row longer than a block, many short rows, and rows that start unaligned. The largest
shape runs on every distribution, so its rows are short: a naive kernel walks them one by one.
"""

from __future__ import annotations

ROWS_HIDDEN = (
    {"rows": 1, "cols": 1},
    {"rows": 1, "cols": 261},
    {"rows": 129, "cols": 7},
    {"rows": 67, "cols": 101},
    {"rows": 3, "cols": 130},
)
COLUMNS_HIDDEN = tuple({"rows": shape["cols"], "cols": shape["rows"]} for shape in ROWS_HIDDEN)
"""The same for tasks that walk down the columns."""
