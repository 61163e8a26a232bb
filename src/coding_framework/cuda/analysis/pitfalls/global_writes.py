"""Rules `missing-bounds-check` and `atomic-contention`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from coding_framework.cuda.analysis.pitfalls.events import Access, Trace
from coding_framework.cuda.analysis.pitfalls.report import pitfall, warp_addresses
from coding_framework.cuda.analysis.pitfalls.scenario import LaunchText
from coding_framework.cuda.analysis.pitfalls.values import BLOCK, THREAD
from coding_framework.records.finding import Finding


def missing_bounds_checks(
    traces: Sequence[Trace], launches: Sequence[LaunchText], scratch: Collection[str]
) -> Iterator[Finding]:
    """Stores by a thread's place in the grid that nothing holds back at the end of the data.

    With a plan they are claimed only if the grid is rounded up: an exact grid needs no check. Nor does
    `scratch`, which has room for every block where it is meant to.
    """
    for trace in traces:
        if not _rounds_up(trace, launches):
            continue
        for event in trace.events:
            if (
                isinstance(event, Access)
                and event.kind == "write"
                and event.region.space == "global"
                and event.region.name not in scratch
                and event.taint & THREAD
                and event.taint & BLOCK
                and not event.is_bounded
            ):
                yield pitfall(
                    "missing-bounds-check",
                    "error",
                    event.line,
                    f"the store to `{event.text}` is reached by every thread of the grid; the grid is "
                    "rounded up to whole blocks, so the last threads write past the end of "
                    f"`{event.region.name}` when the size is no multiple of the block",
                    "Guard loads and stores with the dimension, e.g. `if (i < n) { ... }`.",
                )


def _rounds_up(trace: Trace, launches: Sequence[LaunchText]) -> bool:
    mine = [launch for launch in launches if launch.kernel in ("", trace.kernel)]
    if not mine:
        return True
    return any("ceil" in extent.text or "+" in extent.text for launch in mine for extent in launch.grid)


def contended_atomics(traces: Sequence[Trace]) -> Iterator[Finding]:
    """Atomics by which all lanes of a warp update one address."""
    for trace in traces:
        for event in trace.events:
            if not isinstance(event, Access) or event.kind != "atomic":
                continue
            lanes = warp_addresses(event)
            if len(lanes) == 32 and len(set(lanes)) == 1:
                shared = event.region.space == "shared"
                yield pitfall(
                    "atomic-contention",
                    "info" if shared else "warning",
                    event.line,
                    f"`{event.text}`: all threads of a warp update the same element of "
                    f"`{event.region.name}`, so the updates are done one after another",
                    "Reduce within the warp first (__shfl_down_sync or __reduce_add_sync) and within the "
                    "block in shared memory, then let one thread do one atomic.",
                )
