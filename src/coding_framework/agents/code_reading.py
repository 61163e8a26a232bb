"""Reads declarations, loops, assignments and subscripts off the syntax tree of a CUDA source.

The lower half of `code_facts`: it lists what is there and draws no conclusion. Guarantees: never raises;
walks are iterative.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from tree_sitter import Node

from coding_framework.cuda.analysis.syntax import functions, last_name, qualifiers, text, walk
from coding_framework.cuda.plan_lines import ContractViolation, plan_lines

WORD_NODES = frozenset(
    {"identifier", "type_identifier", "field_identifier", "namespace_identifier", "type_qualifier"}
)
_MAX_EXPRESSION_CHARS = 1000
_LOOPS = frozenset({"for_statement", "while_statement", "do_statement"})


class Array(NamedTuple):
    """An array that a function declares."""

    name: str
    type: str
    extents: tuple[str, ...]
    is_shared: bool


class Step(NamedTuple):
    """How a loop goes on: from where, and by how much."""

    start: str
    by: str


class Assignment(NamedTuple):
    """`target op value`, with the names that subscripts are taken of."""

    target: str
    array: str
    operator: str
    value: str
    in_loop: bool


def mentions(expression: str, names: frozenset[str]) -> bool:
    return any(word in names for word in re.findall(r"[A-Za-z_]\w*", expression))


def read_arrays(nodes: list[Node]) -> Iterator[Array]:
    for node in nodes:
        if node.type != "declaration":
            continue
        words = qualifiers(node)
        if "__constant__" in words or "__device__" in words:
            continue
        for child in node.named_children:
            declarator = child.child_by_field_name("declarator") if child.type == "init_declarator" else child
            if declarator is not None and declarator.type == "array_declarator":
                element = text(node.child_by_field_name("type"))
                yield Array(
                    last_name(declarator), element, tuple(_extents(declarator)), "__shared__" in words
                )


def _extents(declarator: Node) -> list[str]:
    """Outermost first; an extent that is left out is empty."""
    extents: list[str] = []
    node: Node | None = declarator
    while node is not None and node.type == "array_declarator":
        extents.insert(0, text(node.child_by_field_name("size")))
        node = node.child_by_field_name("declarator")
    return extents


def read_steps(nodes: list[Node]) -> Iterator[Step]:
    """Of every loop; `while` loops by the sums within them."""
    for node in nodes:
        if node.type not in _LOOPS:
            continue
        start = text(node.child_by_field_name("initializer"))
        update = node.child_by_field_name("update")
        candidates = walk(update) if update is not None else walk(node)
        for below in candidates:
            if below.type == "assignment_expression":
                operator, value = _operator(below), text(below.child_by_field_name("right"))
                name = text(below.child_by_field_name("left"))
                if operator == "+=":
                    yield Step(start, value)
                elif operator == "=" and value.startswith(f"{name} +"):
                    yield Step(start, value.partition("+")[2].strip())


def read_assignments(nodes: list[Node]) -> Iterator[Assignment]:
    loops = [(node.start_byte, node.end_byte) for node in nodes if node.type in _LOOPS]
    for node in nodes:
        left, right = _sides(node)
        if left is None or right is None:
            continue
        operator = _operator(node) if node.type == "assignment_expression" else "="
        in_loop = any(start <= node.start_byte < end for start, end in loops)
        yield Assignment(_short(left), _subscripted(left), operator, _short(right), in_loop)


def _short(node: Node) -> str:
    """Its text, or as much of it as an honest expression has: nested noise would add up."""
    return text(node)[:_MAX_EXPRESSION_CHARS]


def _sides(node: Node) -> tuple[Node | None, Node | None]:
    if node.type == "assignment_expression":
        return node.child_by_field_name("left"), node.child_by_field_name("right")
    if node.type == "init_declarator":
        return node.child_by_field_name("declarator"), node.child_by_field_name("value")
    return None, None


def _operator(node: Node) -> str:
    return text(node.child_by_field_name("operator"))


def _subscripted(node: Node) -> str:
    """`a` for `a[i][j]`; empty for what is no subscript."""
    below: Node | None = node
    while below is not None and below.type == "subscript_expression":
        below = below.child_by_field_name("argument")
    return text(below) if below is not node else ""


def read_subscripts(nodes: list[Node]) -> Iterator[tuple[str, str]]:
    for node in nodes:
        if node.type == "subscript_expression":
            yield _subscripted(node), text(node.child_by_field_name("indices"))


def read_pointers(root: Node, assignments: tuple[Assignment, ...]) -> frozenset[str]:
    names = {
        last_name(parameter.child_by_field_name("declarator"))
        for function in functions(root)
        if function.is_kernel
        for parameter in function.parameters
        if "*" in text(parameter)
    } - {""}
    derived = {
        assignment.target.lstrip("* ")
        for assignment in assignments
        if assignment.target.startswith("*") and mentions(assignment.value, frozenset(names))
    }
    return frozenset(names | derived)


def read_types(nodes: list[Node]) -> Iterator[str]:
    for node in nodes:
        if node.type == "type_descriptor":
            yield text(node)
        elif node.type in ("parameter_declaration", "declaration"):
            head = text(node.child_by_field_name("type"))
            declarator = node.child_by_field_name("declarator")
            inner = text(declarator)
            yield f"{head}*" if inner.startswith("*") else head


def size_names(assignments: tuple[Assignment, ...]) -> tuple[frozenset[str], frozenset[str]]:
    grid = {a.target for a in assignments if a.operator == "=" and mentions(a.value, frozenset({"gridDim"}))}
    block = {
        a.target
        for a in assignments
        if a.operator == "=" and re.fullmatch(r"\(?(?:int\)?\s*)?blockDim\.\w", a.value)
    }
    return frozenset(grid), frozenset(block)


def count_scratch(source: str) -> int:
    try:
        return sum(line.kind == "scratch" for line in plan_lines(source))
    except ContractViolation:
        return 0
