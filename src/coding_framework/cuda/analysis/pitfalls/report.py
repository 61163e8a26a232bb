"""Making findings, and telling strides and lanes in words."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from coding_framework.cuda.analysis.pitfalls.events import Access
from coding_framework.cuda.analysis.pitfalls.scenario import MIN_SIZE, Scenario
from coding_framework.cuda.analysis.pitfalls.values import Lanes
from coding_framework.records.finding import Finding, Severity

WARP = 32
_RANK: dict[Severity, int] = {"info": 0, "warning": 1, "error": 2, "critical": 3}


def pitfall(rule: str, severity: Severity, line: int | None, reason: str, suggestion: str) -> Finding:
    """A finding of this package."""
    return Finding(
        rule=rule,
        category="pitfall",
        severity=severity,
        line=line,
        reason=reason[:600],
        suggestion=suggestion,
    )


def ordered(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """One finding for each rule and line, the gravest of them, by line."""
    best: dict[tuple[str, int], Finding] = {}
    for finding in findings:
        key = (finding.rule, finding.line or 0)
        if key not in best or _RANK[finding.severity] > _RANK[best[key].severity]:
            best[key] = finding
    return tuple(best[key] for key in sorted(best, key=lambda key: (key[1], key[0])))


def busiest_warp(active: Lanes) -> tuple[int, int]:
    """First thread of the warp with most active lanes, and how many those are."""
    counts = np.add.reduceat(active, np.arange(0, active.size, WARP), dtype=np.int64)
    best = int(counts.argmax())
    return best * WARP, int(counts[best])


def warp_addresses(access: Access) -> list[int]:
    """Addresses of the active lanes of the busiest warp; empty if not known."""
    data = access.address
    if data is None:
        return []
    start, count = busiest_warp(access.active)
    if isinstance(data, int):
        return [data] * count
    lanes = access.active[start : start + WARP]
    return [int(address) for address in data[start : start + WARP][lanes]]


def stride_parameter(elements: int, scenario: Scenario) -> str | None:
    """The parameter that a stride is a multiple of."""
    sizes = scenario.parameters.items()
    return next((name for name, size in sizes if size > 8 and elements and elements % size == 0), None)


def stride_elements(access: Access) -> int | None:
    """How many elements lie between the first two threads; None if it is no whole number."""
    address, size = access.address, access.num_bytes
    if address is None or isinstance(address, int) or address.size < 2 or not size:
        return None
    step = int(address[1] - address[0])
    return None if step % size else step // size


def stride_words(access: Access, scenario: Scenario) -> str:
    """How far apart neighbouring threads are, named after a parameter where one fits."""
    elements = stride_elements(access)
    if elements is None:
        return "an irregular distance"
    name = stride_parameter(elements, scenario)
    if name is None:
        return f"{elements} elements" if abs(elements) < MIN_SIZE else "a distance that grows with the sizes"
    factor = elements // scenario.parameters[name]
    return f"`{name}` elements" if factor == 1 else f"{factor} * `{name}` elements"
