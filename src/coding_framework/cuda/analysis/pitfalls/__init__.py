"""Static findings that help to write a better kernel: races, barriers, banks, coalescing, occupancy.

Read `detector` first, then `tracer` (how a kernel is followed), then a rule, e.g. `banks`.
"""

from __future__ import annotations

from coding_framework.cuda.analysis.pitfalls.detector import CUDAPitfallDetector

__all__ = ["CUDAPitfallDetector"]
