"""Rule `bank-conflict`: lanes of a warp that want different words of one bank of shared memory.

Counted as the hardware does: 32 banks of 4 bytes; a warp's access of 8 or 16 bytes a lane goes in two
or four parts; lanes that read the same word share it. Claimed only where it happens in every traced
scenario that makes the access, so a stride that is bad for some sizes alone is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from coding_framework.cuda.analysis.pitfalls.events import Access, Trace
from coding_framework.cuda.analysis.pitfalls.report import busiest_warp, pitfall, warp_addresses
from coding_framework.records.finding import Finding

BANKS = 32
MIN_LANES = 8
"""Warps with fewer active lanes say little about the access."""
_PADDINGS = (1, 2, 4, 8, 16)
"""Elements to add to a row, tried in turn: a block 16 wide needs 2 or 16 where one 32 wide needs 1."""


def bank_conflicts(traces: Sequence[Trace]) -> Iterator[Finding]:
    """One finding for each access that needs several passes."""
    worst: dict[tuple[int, str, str], tuple[int, Access, Trace]] = {}
    harmless: set[tuple[int, str, str]] = set()
    for trace in traces:
        for key, (passes, access) in _of_trace(trace).items():
            if passes < 2:
                harmless.add(key)
            elif key not in worst or passes < worst[key][0]:
                worst[key] = (passes, access, trace)
    for key, (passes, access, trace) in worst.items():
        if key not in harmless:
            yield _finding(passes, access, trace)


def _of_trace(trace: Trace) -> dict[tuple[int, str, str], tuple[int, Access]]:
    found: dict[tuple[int, str, str], tuple[int, Access]] = {}
    for event in trace.events:
        if not isinstance(event, Access) or event.region.space != "shared" or not event.num_bytes:
            continue
        if event.kind == "atomic":
            continue
        lanes = warp_addresses(event)
        if len(lanes) < MIN_LANES:
            continue
        key = (event.line, event.text, event.kind)
        passes = num_passes(lanes, event.num_bytes)
        if key not in found or passes > found[key][0]:
            found[key] = (passes, event)
    return found


def num_passes(addresses: Sequence[int], num_bytes: int) -> int:
    """Passes over the banks that the worst part of a warp's access needs."""
    if max(addresses) - min(addresses) + num_bytes <= 4 * BANKS:
        return 1
    lanes = {8: 16, 16: 8}.get(num_bytes, 32)
    most = 1
    for start in range(0, len(addresses), lanes):
        words: set[int] = set()
        for address in addresses[start : start + lanes]:
            words.update(range(address // 4, (address + num_bytes - 1) // 4 + 1))
        banks = [word % BANKS for word in words]
        if len(set(banks)) < len(banks):
            most = max(most, *Counter(banks).values())
    return most


def _finding(passes: int, access: Access, trace: Trace) -> Finding:
    region = access.region
    return pitfall(
        "bank-conflict",
        "warning",
        access.line,
        f"the {access.kind} of `{access.text}` is a {passes}-way bank conflict: {_pair(access, trace)} of "
        f"the shared array `{region.name}`, which lie in one bank: a warp needs {passes} passes instead of 1",
        _remedy(access, trace),
    )


def _pair(access: Access, trace: Trace) -> str:
    """Two threads of the warp that want different words of one bank."""
    assert isinstance(access.address, np.ndarray)
    start, _ = busiest_warp(access.active)
    first: dict[int, tuple[int, int]] = {}
    for thread in range(start, min(start + BANKS, access.active.size)):
        if access.active[thread]:
            address = int(access.address[thread])
            known = first.setdefault(address // 4 % BANKS, (thread, address))
            if known[1] // 4 != address // 4:
                apart = (address - known[1]) // access.num_bytes
                x = trace.scenario.block[0]
                names = [f"(x={t % x}, y={t // x})" for t in (known[0], thread)]
                return f"threads {names[0]} and {names[1]} use elements {abs(apart)} apart"
    return "threads of a warp use distant elements"


def _remedy(access: Access, trace: Trace) -> str:
    """The row length with the fewest conflicts over all accesses of the array, if padding helps."""
    region = access.region
    row = region.extents[-1] if len(region.extents) == 2 else None
    if row is None:
        return (
            f"Let neighbouring threads use neighbouring elements of `{region.name}`, or make the stride "
            "between them odd (pad each group by one element)."
        )
    rows = {
        (tuple(warp_addresses(event)), event.num_bytes)
        for event in trace.events
        if isinstance(event, Access) and event.region is region and event.num_bytes == region.element_bytes
    }
    rows = {(lanes, size) for lanes, size in rows if len(lanes) >= MIN_LANES}
    worst = {
        pad: max(num_passes(_padded(x, row, size, pad), size) for x, size in rows) for pad in (0, *_PADDINGS)
    }
    best = min(worst, key=lambda pad: (worst[pad], pad))
    if best:
        left = "" if worst[best] == 1 else f", which leaves at most {worst[best]} passes"
        return (
            f"Pad the rows of `{region.name}` from {row} to {row + best} elements{left}: declare it "
            f"`[{region.extents[0]}][{row + best}]`."
        )
    return f"Let threadIdx.x index the last dimension of `{region.name}`, or store it transposed."


def _padded(lanes: Sequence[int], row: int, size: int, padding: int) -> list[int]:
    return [address + address // (row * size) * padding * size for address in lanes]
