"""Loops that cannot end, or that wait for a value which the compiler may read once only.

Looks at one loop at a time and at names, not at values: it reports what surely or very likely hangs
and stays silent where a call, a reference or a pointer may change what the condition reads.
"""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from coding_framework.cuda.analysis.code_index import CodeIndex
from coding_framework.cuda.analysis.findings import safety
from coding_framework.cuda.analysis.syntax import declared_name, last_name, line_of, text, walk
from coding_framework.cuda.analysis.word_sets import words
from coding_framework.records import Finding

MAX_LOOKED_AT_BYTES = 1_000_000
"""Loops within loops are read once each; ten thousand of them, one in the other, are not worth it."""
_LOOPS = ("for_statement", "while_statement", "do_statement")
_LEAVING = frozenset({"return_statement", "goto_statement", "throw_statement", "co_return_statement"})
_LEAVING_CALLS = frozenset({"__trap", "exit", "abort", "_exit", "__assert_fail"})
_MAY_CHANGE = words(
    "update_expression pointer_expression init_declarator argument_list lambda_expression ERROR"
)
_COUNT_FROM_ZERO = ("*=", "<<=", "/=", ">>=")


def loop_findings(index: CodeIndex) -> Iterator[Finding]:
    """At most one finding a loop."""
    budget_bytes = MAX_LOOKED_AT_BYTES
    for kind in _LOOPS:
        for node in index.of(kind):
            budget_bytes -= node.end_byte - node.start_byte
            if budget_bytes > 0 and not _has_exit(node):
                yield from _loop(index, node)


def _loop(index: CodeIndex, node: Node) -> Iterator[Finding]:
    condition = _condition(node)
    line = line_of(node)
    value = index.constants.value(condition)
    if condition is None or (value is not None and value != 0):
        reason = "the condition is always true and nothing inside leaves the loop."
        yield safety("endless-loop", "error", line, reason, "Add a condition that becomes false, or a break.")
    elif value is None:
        yield from _stuck(index, node, condition) or _never_changes(index, node, condition)


def _condition(node: Node) -> Node | None:
    found = node.child_by_field_name("condition")
    while found is not None and found.type in ("condition_clause", "parenthesized_expression"):
        inner = [child for child in found.named_children if child.type != "comment"]
        if len(inner) != 1:
            return found
        found = inner[0]
    return found


def _has_exit(loop: Node) -> bool:
    """Whether anything inside leaves this loop: `break` of its own, `return`, `goto`, a trap."""
    body = loop.child_by_field_name("body")
    stack = [(body, False)] if body is not None else []
    while stack:
        node, inner = stack.pop()
        kind = node.type
        if kind in _LEAVING or (kind == "break_statement" and not inner) or kind == "gnu_asm_expression":
            return True
        if kind == "call_expression" and last_name(node.child_by_field_name("function")) in _LEAVING_CALLS:
            return True
        if kind == "lambda_expression":
            continue
        inner = inner or kind in _LOOPS or kind in ("switch_statement", "for_range_loop")
        stack.extend((child, inner) for child in node.named_children)
    return False


def _stuck(index: CodeIndex, loop: Node, condition: Node) -> tuple[Finding, ...]:
    """`for (int i = 0; ...; i *= 2)` stays at 0; `for (unsigned i = n; i >= 0; --i)` never gets below."""
    initial, update = loop.child_by_field_name("initializer"), loop.child_by_field_name("update")
    if initial is None or update is None or initial.type != "declaration":
        return ()
    declarator = initial.child_by_field_name("declarator")
    name = declared_name(declarator)
    start = declarator.child_by_field_name("value") if declarator is not None else None
    if update.type == "assignment_expression" and text(update.child_by_field_name("left")) == name:
        operator = text(update.child_by_field_name("operator"))
        step = index.constants.value(update.child_by_field_name("right"))
        from_zero = operator in _COUNT_FROM_ZERO and index.constants.value(start) == 0
        is_read = name in _names(condition) and name not in _changed(loop.child_by_field_name("body"))
        if is_read and (from_zero or (operator in ("+=", "-=") and step == 0)):
            reason = f"`{name}` keeps its value: `{text(update)}` does not change it."
            return (safety("endless-loop", "error", line_of(loop), reason, "Start at 1, or add a step."),)
    words = text(initial.child_by_field_name("type"))
    if ("unsigned" in words or words in ("size_t", "uint32_t", "uint64_t")) and _is_at_least_zero(
        condition, name
    ):
        reason = f"`{name}` is unsigned, so `{text(condition)}` is always true."
        return (safety("endless-loop", "error", line_of(loop), reason, "Use a signed counter."),)
    return ()


def _is_at_least_zero(condition: Node, name: str) -> bool:
    return "".join(text(condition).split()) in (f"{name}>=0", f"0<={name}", f"{name}>=0u")


def _never_changes(index: CodeIndex, loop: Node, condition: Node) -> Iterator[Finding]:
    kinds = {node.type for node in walk(condition)}
    if kinds & {"call_expression", "assignment_expression", "update_expression", "ERROR"}:
        return
    names = _names(condition)
    changed = _changed(loop.child_by_field_name("body")) | _changed(loop.child_by_field_name("update"))
    if not names or names & changed:
        return
    memory = bool(kinds & {"subscript_expression", "pointer_expression", "field_expression"})
    if memory or names & index.shared_names:
        if not names & index.volatile_names and "volatile" not in text(condition):
            reason = (
                f"it waits for `{text(condition)[:60]}` to change, but the compiler may read that once only."
            )
            suggestion = (
                "Read it through a volatile pointer or an atomic; better, do not wait for other threads."
            )
            yield safety("spin-wait", "warning", line_of(loop), reason, suggestion)
        return
    reason = f"nothing in the loop changes `{text(condition)[:60]}`: once entered it never ends."
    suggestion = f"Change {' or '.join(f'`{name}`' for name in sorted(names))} in the loop, or add a break."
    yield safety("endless-loop", "error", line_of(loop), reason, suggestion)


def _names(node: Node) -> set[str]:
    return {text(child) for child in walk(node) if child.type == "identifier"}


def _written(target: Node | None) -> str:
    """`a` for `a`, `a[i]`, `*a` and `a.b`."""
    while target is not None and target.type != "identifier":
        children = target.named_children
        target = target.child_by_field_name("argument") or (children[0] if children else None)
    return text(target)


def _changed(node: Node | None) -> set[str]:
    """Names that are assigned, stepped, declared, passed to a call or have their address taken."""
    found: set[str] = set()
    for child in walk(node) if node is not None else ():
        if child.type == "assignment_expression":
            found.add(_written(child.child_by_field_name("left")))
        elif child.type in _MAY_CHANGE:
            found |= _names(child)
    return found
