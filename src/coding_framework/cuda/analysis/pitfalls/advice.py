"""Small advice: unwritten shared memory, slow integer division, local arrays, qualifiers.

`shared-read-before-write` looks at whole arrays, not elements: it speaks only where nothing at all
was stored before the read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from coding_framework.cuda.analysis.pitfalls import ir
from coding_framework.cuda.analysis.pitfalls.events import Access, Division, Escape, LocalIndex, Trace
from coding_framework.cuda.analysis.pitfalls.report import pitfall
from coding_framework.cuda.analysis.pitfalls.values import Region
from coding_framework.records.finding import Finding


def unwritten_shared(traces: Sequence[Trace]) -> Iterator[Finding]:
    """A read of a shared array before any thread has stored anything in it, in every scenario."""
    per_trace = [dict(_unwritten(trace)) for trace in traces]
    for line, access in per_trace[0].items() if per_trace else ():
        if all(line in found for found in per_trace):
            yield pitfall(
                "shared-read-before-write",
                "error" if access.kind == "read" else "warning",
                line,
                f"`{access.text or access.region.name}` uses the shared array `{access.region.name}` before "
                "any thread has stored a value in it; shared memory starts with arbitrary contents",
                f"Store initial values in `{access.region.name}` and call __syncthreads() before using it.",
            )


def _unwritten(trace: Trace) -> Iterator[tuple[int, Access]]:
    written: set[Region] = set()
    for event in trace.events:
        if isinstance(event, Escape):
            written.add(event.region)
        elif isinstance(event, Access) and event.region.space == "shared" and event.region not in written:
            if event.kind == "write":
                written.add(event.region)
            elif not event.guards:
                written.add(event.region)
                yield event.line, event


def slow_divisions(traces: Sequence[Trace]) -> Iterator[Finding]:
    """Quotients and remainders by run-time values inside loops."""
    for trace in traces:
        for event in trace.events:
            if isinstance(event, Division) and event.loop_depth:
                yield pitfall(
                    "integer-division",
                    "info",
                    event.line,
                    f"`{event.text}` divides integers by a value known only at run time, inside a loop: some "
                    "20 instructions each time",
                    "Compute it once before the loop, count rows and columns up instead, or use a 2D grid.",
                )


def local_arrays(traces: Sequence[Trace]) -> Iterator[Finding]:
    """Arrays of a thread that cannot live in registers."""
    for trace in traces:
        for event in trace.events:
            if isinstance(event, LocalIndex):
                yield pitfall(
                    "local-array-dynamic-index",
                    "info",
                    event.line,
                    f"`{event.text}` indexes the thread's own array `{event.region.name}` by a value "
                    "known only at run time, which puts it into local memory off the chip, not registers",
                    "Index it by loop variables with constant bounds and unroll them, or use shared memory.",
                )


def plain_pointers(kernel: ir.Function, traces: Sequence[Trace]) -> Iterator[Finding]:
    """Inputs that the compiler must assume to change with every store."""
    written = {
        event.region.name
        for trace in traces
        for event in trace.events
        if isinstance(event, Access) and event.kind != "read" and event.region.space == "global"
    }
    pointers = [parameter for parameter in kernel.parameters if parameter.is_pointer and parameter.name]
    plain = [p.name for p in pointers if p.name not in written and not (p.type.is_const and p.is_restrict)]
    if len(pointers) > 1 and plain and written:
        names = ", ".join(f"`{name}`" for name in plain)
        yield pitfall(
            "no-const-restrict",
            "info",
            kernel.line,
            f"the inputs {names} of `{kernel.name}` are only read but not declared `const ... __restrict__`, "
            "so the compiler must reload them after every store",
            "Declare inputs `const float* __restrict__ x` and outputs `float* __restrict__ y`.",
        )
