"""Security rules on memory: addresses made from numbers, and device state that outlives a launch.

A kernel that keeps a table between launches can answer a later call from an earlier one. Counters for a
grid-wide barrier are honest and small, hence the threshold. It does not see state kept in memory that
a pointer parameter leads to; fresh contents for every timed call are the defence there.
"""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from coding_framework.cuda.analysis.code_index import CodeIndex
from coding_framework.cuda.analysis.findings import security
from coding_framework.cuda.analysis.syntax import declared_name, line_of, qualifiers, text, walk
from coding_framework.records import Contract, Finding, Severity

MAX_STATE_BYTES = 64 * 1024
_POINTER_TYPES = ("abstract_pointer_declarator", "abstract_function_declarator")
_CASTS = ("reinterpret_cast", "bit_cast", "static_cast")
_SMALLEST_ADDRESS = 1


def memory_findings(index: CodeIndex, contract: Contract) -> Iterator[Finding]:
    yield from _raw_addresses(index, contract)
    yield from _state(index, contract)


def _raw_addresses(index: CodeIndex, contract: Contract) -> Iterator[Finding]:
    for node in index.of("cast_expression"):
        if _makes_a_pointer(node.child_by_field_name("type")):
            yield from _address(index, node, node.child_by_field_name("value"), contract)
    for call in index.calls:
        if call.name in _CASTS and len(call.arguments) == 1:
            callee = call.node.child_by_field_name("function")
            if callee is not None and any(child.type in _POINTER_TYPES for child in walk(callee)):
                yield from _address(index, call.node, call.arguments[0], contract)


def _makes_a_pointer(described: Node | None) -> bool:
    declarator = described.child_by_field_name("declarator") if described is not None else None
    return declarator is not None and declarator.type in _POINTER_TYPES


def _address(index: CodeIndex, cast: Node, value: Node | None, contract: Contract) -> Iterator[Finding]:
    number = _number(index, value)
    if number is not None and abs(number) >= _SMALLEST_ADDRESS:
        severity: Severity = "critical" if contract == "kernel" else "warning"
        reason = f"`{text(cast)[:60]}` makes a pointer out of a number."
        suggestion = "Use only the pointers that were passed, and arithmetic on them."
        yield security("raw-address", severity, line_of(cast), reason, suggestion)


def _number(index: CodeIndex, value: Node | None) -> int | None:
    """The constant behind a value, also through one variable that is set to a literal."""
    number = index.constants.value(value)
    if number is not None or value is None or value.type != "identifier":
        return number
    return index.initial_values.get(text(value))


def _state(index: CodeIndex, contract: Contract) -> Iterator[Finding]:
    if not index.words & {"__device__", "__managed__", "static"}:
        return
    variables = list(_mutable_globals(index))
    total = sum(size for _node, _name, size in variables)
    too_much = total > MAX_STATE_BYTES and contract == "kernel"
    for node, name, _size in variables:
        reason = f"`{name}` is state that outlives a launch ({total} bytes of it in all)."
        suggestion = "Keep temporary data in shared memory or in a `// scratch:` buffer of the launch plan."
        severity: Severity = "critical" if too_much else "warning"
        yield security("device-state", severity, line_of(node), reason, suggestion)


def _mutable_globals(index: CodeIndex) -> Iterator[tuple[Node, str, int]]:
    """Variables in device memory that kernels can write; an unknown extent counts as too large."""
    for node in (*index.of("declaration"), *index.of("field_declaration")):
        words = qualifiers(node)
        static_local = "static" in words and index.runs_on_device(node)
        if not (words & {"__device__", "__managed__"} or static_local):
            continue
        if words & {"const", "constexpr", "__constant__", "__shared__", "extern"}:
            continue
        for declarator in node.children_by_field_name("declarator"):
            inner = (
                declarator.child_by_field_name("declarator") if declarator.type == "init_declarator" else None
            )
            target = inner if inner is not None else declarator
            if any(child.type == "function_declarator" for child in walk(target)):
                continue
            size = index.constants.array_bytes(node, target)
            yield node, declared_name(declarator), MAX_STATE_BYTES + 1 if size is None else size
