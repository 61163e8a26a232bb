"""Rule `divergence`: a branch that takes lanes of every warp apart in a scattered pattern.

`if (tid < n)` splits one warp at most; `if (tid % 2 == 0)` splits them all. Counted on the lanes
themselves: a condition that changes its mind at least `MIN_CHANGES` times within a warp is scattered.
It is a warning in a loop, where it is paid again and again, and an info elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from coding_framework.cuda.analysis.pitfalls.events import Branch, Trace
from coding_framework.cuda.analysis.pitfalls.report import WARP, pitfall
from coding_framework.cuda.analysis.pitfalls.values import BLOCK, DATA, DIMENSION
from coding_framework.records.finding import Finding

MIN_CHANGES = 8


def divergent_branches(traces: Sequence[Trace]) -> Iterator[Finding]:
    """Scattered branches that depend on the thread's number alone."""
    for trace in traces:
        for event in trace.events:
            if not isinstance(event, Branch) or event.taint & (DATA | DIMENSION | BLOCK):
                continue
            lanes = event.lanes[:WARP]
            if lanes.size < WARP or not event.active[:WARP].all():
                continue
            changes = int(np.count_nonzero(lanes[1:] != lanes[:-1]))
            if changes >= MIN_CHANGES:
                yield pitfall(
                    "divergence",
                    "warning" if event.loop_depth else "info",
                    event.line,
                    f"the branch on `{event.text}` keeps {int(lanes.sum())} of 32 lanes of each warp busy, "
                    "scattered over the warp, so every warp pays for both sides",
                    "Let the first threads of the block do the work (`if (tid < count)` with index "
                    "tid * step, or a reduction whose stride halves), so that whole warps are busy or idle.",
                )
