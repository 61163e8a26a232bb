"""How many cores there are to use."""

from __future__ import annotations

import os


def usable_cores() -> int:
    """Logical ones that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
