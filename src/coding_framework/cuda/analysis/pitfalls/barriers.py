"""Rules `barrier-in-divergent-code` and `shift-mask`: threads that wait for others which do not come."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from coding_framework.cuda.analysis.pitfalls.events import Barrier, Shuffle, Trace
from coding_framework.cuda.analysis.pitfalls.report import WARP, pitfall
from coding_framework.cuda.analysis.pitfalls.values import THREAD, Lanes
from coding_framework.records.finding import Finding


def divergent_barriers(traces: Sequence[Trace]) -> Iterator[Finding]:
    """`__syncthreads()` that only some threads of the block reach.

    Threads that returned count as arrived on today's hardware, so an early return is a warning: the
    barrier works, but these threads no longer do their share of what it waits for.
    """
    for trace in traces:
        for event in trace.events:
            if not isinstance(event, Barrier) or event.scope != "block" or not event.is_certain:
                continue
            here = event.active | event.exited
            if not here.all() or event.doubt & THREAD:
                yield pitfall(
                    "barrier-in-divergent-code",
                    "error",
                    event.line,
                    f"`__syncthreads()` on line {event.line} is inside a branch or loop whose condition "
                    "differs between threads of a block: some threads wait for others that never come",
                    "Move the barrier out of the branch: let all threads reach it and guard only the loads "
                    "and stores around it.",
                )
            elif (event.exited.any() and event.active.any()) or event.exit_doubt & THREAD:
                yield pitfall(
                    "barrier-in-divergent-code",
                    "warning",
                    event.line,
                    f"`__syncthreads()` on line {event.line} comes after an early `return` that only some "
                    "threads of a block take",
                    "Replace the early return by a guard around the loads and stores, so that every thread "
                    "reaches the barrier.",
                )


def partial_shuffles(traces: Sequence[Trace]) -> Iterator[Finding]:
    """A full mask names lanes that are not there."""
    for trace in traces:
        for event in trace.events:
            if isinstance(event, Shuffle) and event.is_full_mask and not event.doubt & THREAD:
                missing = _cut_warps(event.active)
                if missing.any():
                    only_exited = not (missing & ~event.exited).any()
                    why = "have returned" if only_exited else "are switched off by a condition"
                    yield pitfall(
                        "shift-mask",
                        "warning" if only_exited else "error",
                        event.line,
                        f"`{event.name}` on line {event.line} has the full mask 0xffffffff, but some lanes "
                        f"of a warp {why} there: "
                        "their values are undefined and the warp may hang",
                        "Call it where all 32 lanes take part (give idle lanes a neutral value instead of "
                        "skipping them), or pass a mask from __ballot_sync taken before the branch.",
                    )


def _cut_warps(active: Lanes) -> Lanes:
    """Lanes that are off in warps of which other lanes are on."""
    starts = np.arange(0, active.size, WARP)
    some = np.repeat(np.logical_or.reduceat(active, starts), WARP)[: active.size]
    cut: Lanes = some & ~active
    return cut
