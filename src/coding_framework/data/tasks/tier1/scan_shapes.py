"""Hidden shapes of scans along rows.

A scan in one thread is as long as its row, and the emulator takes every step of it in turn. So the shape
that is run on every distribution (the one with most elements) has rows of medium length, and one other has
more columns than a block usually has threads.
"""

from __future__ import annotations

SCAN_HIDDEN = (
    {"rows": 1, "cols": 1},
    {"rows": 3, "cols": 259},
    {"rows": 129, "cols": 7},
    {"rows": 65, "cols": 67},
    {"rows": 1, "cols": 33},
)
