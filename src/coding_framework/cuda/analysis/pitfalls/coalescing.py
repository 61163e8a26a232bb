"""Rule `uncoalesced-access`: a warp's access to global memory that is spread over many sectors.

Counted in sectors of 32 bytes as the memory moves them. A warning says that the access is spread in
every scenario with full warps; an access that only some sizes reach (a fallback path) is an info.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from coding_framework.cuda.analysis.pitfalls.events import Access, Trace
from coding_framework.cuda.analysis.pitfalls.report import (
    pitfall,
    stride_elements,
    stride_parameter,
    stride_words,
    warp_addresses,
)
from coding_framework.records.finding import Finding

SECTOR = 32
MIN_LANES = 16
MIN_SECTORS = 8
"""A warp reads 32 floats in 4 sectors; a stride of two, which needs 8, is not worth a word."""
_Key = tuple[int, str, str]


def uncoalesced(traces: Sequence[Trace]) -> Iterator[Finding]:
    """One finding for each spread access."""
    full = [trace for trace in traces if trace.scenario.kind != "small"]
    found: dict[_Key, list[tuple[int, int, Access, Trace]]] = {}
    for trace in full:
        for key, (sectors, ideal, access) in _of_trace(trace).items():
            found.setdefault(key, []).append((sectors, ideal, access, trace))
    for cases in found.values():
        if all(sectors > MIN_SECTORS and sectors >= 3 * ideal for sectors, ideal, _, _ in cases):
            yield _finding(*cases[0], is_always=len(cases) == len(full))


def _of_trace(trace: Trace) -> dict[_Key, tuple[int, int, Access]]:
    """The best round of each access: a loop's first round may start off a sector's edge."""
    found: dict[_Key, tuple[int, int, Access]] = {}
    for event in trace.events:
        if not isinstance(event, Access) or event.region.space != "global" or not event.num_bytes:
            continue
        lanes = warp_addresses(event)
        if len(lanes) < MIN_LANES:
            continue
        key = (event.line, event.text, event.kind)
        if max(lanes) - min(lanes) < SECTOR * (MIN_SECTORS - 1):
            found[key] = (1, 1, event)
            continue
        sectors = num_sectors(lanes, event.num_bytes)
        ideal = -(-len(set(lanes)) * event.num_bytes // SECTOR)
        if key not in found or sectors < found[key][0]:
            found[key] = (sectors, ideal, event)
    return found


def num_sectors(addresses: Sequence[int], num_bytes: int) -> int:
    """Sectors that a warp's access touches."""
    touched: set[int] = set()
    for address in set(addresses):
        touched.update(range(address // SECTOR, (address + num_bytes - 1) // SECTOR + 1))
    return len(touched)


def _is_small_in_practice(access: Access, trace: Trace) -> bool:
    """A stride such as `ceil_div(cols, 256)` is a few elements for usual sizes, and then does no harm."""
    name = stride_parameter(stride_elements(access) or 0, trace.scenario)
    return name is not None and trace.scenario.modest.get(name, SECTOR) < SECTOR // 4


def _finding(sectors: int, ideal: int, access: Access, trace: Trace, *, is_always: bool) -> Finding:
    words = stride_words(access, trace.scenario)
    verb = {"read": "load", "write": "store", "atomic": "atomic"}[access.kind]
    place = "" if is_always else " (on the path that only some sizes take)"
    if is_always and _is_small_in_practice(access, trace):
        is_always, place = False, " (once the stride is more than a few elements)"
    return pitfall(
        "uncoalesced-access",
        "warning" if is_always else "info",
        access.line,
        f"the {verb} of `{access.text}`{place} is spread out: neighbours in x are {words} apart in "
        f"`{access.region.name}`, so a warp touches {sectors} sectors of 32 bytes where {max(ideal, 1)} "
        "would do",
        "Let threadIdx.x run along the last (contiguous) dimension, e.g. a warp or block for each row with "
        "the threads striding over its columns, or stage a tile in shared memory.",
    )
