"""Leaks, and resources beyond what the hardware has."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from tree_sitter import Node

from coding_framework.cuda.analysis.code_index import MAX_CLIMB, CodeIndex
from coding_framework.cuda.analysis.findings import safety
from coding_framework.cuda.analysis.syntax import (
    declared_name,
    last_name,
    line_of,
    qualifiers,
    text,
    walk,
)
from coding_framework.records import Finding, Severity

MAX_STATIC_SHARED_BYTES = 48 * 1024
"""The compiler's limit for `__shared__` arrays of fixed size."""
MAX_SHARED_BYTES = 227 * 1024
"""The most that one block can have on any device, with dynamic shared memory."""
LARGE_LOCAL_BYTES = 1024
"""Beyond the 255 registers of 4 bytes that a thread has: the array lies in local memory."""
MAX_LOCAL_BYTES = 512 * 1024
MAX_THREADS = 1024
MAX_ALLOCATIONS = 100
"""Of one kind that are followed to their variable; each needs a climb through the tree."""
LARGE_GLOBAL_BYTES = 256 << 20
_HOST_PAIRS = {
    "cudaMalloc": ("cudaFree",),
    "cudaMallocManaged": ("cudaFree",),
    "cudaMallocPitch": ("cudaFree",),
    "cudaMallocAsync": ("cudaFreeAsync", "cudaFree"),
    "cudaMallocHost": ("cudaFreeHost",),
    "cudaHostAlloc": ("cudaFreeHost",),
    "cudaStreamCreate": ("cudaStreamDestroy",),
    "cudaStreamCreateWithFlags": ("cudaStreamDestroy",),
    "cudaEventCreate": ("cudaEventDestroy",),
    "cublasCreate": ("cublasDestroy",),
    "cublasCreate_v2": ("cublasDestroy", "cublasDestroy_v2"),
}
"""Allocation -> what gives it back. The first argument names the variable."""
_OWNERS = ("unique_ptr", "shared_ptr", "return", "static")


def leak_findings(index: CodeIndex) -> Iterator[Finding]:
    """Memory that is asked for and never given back."""
    freed = _freed(index)
    num_allocations = 0
    for call in index.calls:
        if call.name in _HOST_PAIRS and call.arguments:
            name = _target(call.arguments[0])
            givers = _HOST_PAIRS[call.name]
            if not any(name in freed[giver] for giver in givers):
                yield _leak(call.node, call.name, name, givers[0])
        elif call.name in ("malloc", "calloc") and not call.is_method and num_allocations < MAX_ALLOCATIONS:
            num_allocations += 1
            yield from _unfreed(call.node, call.name, freed["free"] | freed["cudaFree"], "free")
    for node in index.of("new_expression")[:MAX_ALLOCATIONS]:
        if not any(child.type == "argument_list" and _is_placement(node, child) for child in node.children):
            yield from _unfreed(node, "new", freed["delete"], "delete")


def _freed(index: CodeIndex) -> defaultdict[str, set[str]]:
    """For each function that gives back, the names it was given."""
    freed: defaultdict[str, set[str]] = defaultdict(set)
    for call in index.calls:
        if call.arguments:
            freed[call.name].add(_target(call.arguments[0]))
    for node in index.of("delete_expression"):
        freed["delete"] |= {text(child) for child in walk(node) if child.type == "identifier"}
    return freed


def _is_placement(node: Node, arguments: Node) -> bool:
    """`new (buffer) T` uses memory that is there."""
    placement = node.child_by_field_name("placement")
    return placement is not None and placement == arguments


def _target(argument: Node) -> str:
    """`p` for `&p`, `(void**)&p`, `p[i]` and `object.p`."""
    names = [text(n) for n in walk(argument) if n.type in ("identifier", "field_identifier")]
    return names[0] if names else ""


def _unfreed(node: Node, what: str, freed: set[str], giver: str) -> Iterator[Finding]:
    """Only where the result goes into a variable that is neither freed nor handed on."""
    name, holder = "", node.parent
    for _step in range(MAX_CLIMB):
        if holder is None or holder.type.endswith(("statement", "declaration", "_list")):
            break
        if holder.type == "init_declarator":
            name = declared_name(holder)
        elif holder.type == "assignment_expression":
            name = last_name(holder.child_by_field_name("left"))
        holder = holder.parent
    if holder is None or not name or name in freed or any(word in text(holder) for word in _OWNERS):
        return
    yield _leak(node, what, name, giver)


def _leak(node: Node, what: str, name: str, giver: str) -> Finding:
    reason = f"`{name}` is allocated with `{what}` and never given back: every call loses memory."
    return safety("leak", "warning", line_of(node), reason, f"Call `{giver}` on it before returning.")


def resource_findings(index: CodeIndex) -> Iterator[Finding]:
    """Shared, local and global memory, and threads, against what there is."""
    shared: defaultdict[int, int] = defaultdict(int)
    kernels: dict[int, str] = {}
    for node in index.of("declaration"):
        words = qualifiers(node)
        sizes = [index.constants.array_bytes(node, d) for d in _declarators(node)]
        size = sum(known for known in sizes if known is not None)
        if "__shared__" in words and "extern" not in words:
            function = index.enclosing(node)
            line = function.line if function is not None else line_of(node)
            shared[line] += size
            kernels[line] = function.name if function is not None else declared_name(_declarators(node)[0])
        elif words & {"__device__", "__constant__", "__managed__"}:
            yield from _global(node, size, words)
        elif size > LARGE_LOCAL_BYTES and "static" not in words and index.runs_on_device(node):
            yield _local(node, size)
    for line, total in shared.items():
        yield from _shared(line, kernels[line], total)
    yield from _launch_bounds(index)


def _declarators(node: Node) -> list[Node]:
    found = []
    for child in node.children_by_field_name("declarator"):
        inner = child.child_by_field_name("declarator") if child.type == "init_declarator" else None
        found.append(inner if inner is not None else child)
    return found


def _shared(line: int, name: str, total: int) -> Iterator[Finding]:
    if total > MAX_SHARED_BYTES:
        reason = f"`{name}` asks for {total} bytes of shared memory; a block has {MAX_SHARED_BYTES} at most."
        yield safety("shared-memory", "error", line, reason, "Use smaller tiles.")
    elif total > MAX_STATIC_SHARED_BYTES:
        reason = f"`{name}` has {total} bytes of fixed shared memory; the limit is {MAX_STATIC_SHARED_BYTES}."
        suggestion = "Use smaller tiles, or `extern __shared__` with `shared=` in the launch plan."
        yield safety("shared-memory", "error", line, reason, suggestion)


def _local(node: Node, size: int) -> Finding:
    severity: Severity = "error" if size > MAX_LOCAL_BYTES else "warning"
    reason = f"an array of {size} bytes for every thread lies in slow local memory."
    suggestion = "Use a smaller array with constant indices, or shared memory."
    return safety("local-array", severity, line_of(node), reason, suggestion)


def _global(node: Node, size: int, words: frozenset[str]) -> Iterator[Finding]:
    limit = 64 * 1024 if "__constant__" in words else LARGE_GLOBAL_BYTES
    if size > limit:
        reason = (
            f"{size} bytes of {'constant' if '__constant__' in words else 'global'} memory in one variable."
        )
        severity: Severity = "error" if "__constant__" in words else "warning"
        yield safety("global-array", severity, line_of(node), reason, "Use a `// scratch:` buffer.")


def _launch_bounds(index: CodeIndex) -> Iterator[Finding]:
    for node in index.of("launch_bounds"):
        first = node.named_children[0] if node.named_children else None
        threads = index.constants.value(first)
        if threads is not None and threads > MAX_THREADS:
            reason = f"`__launch_bounds__({threads})`: a block has at most {MAX_THREADS} threads."
            yield safety("launch-bounds", "error", line_of(node), reason, f"Use at most {MAX_THREADS}.")
