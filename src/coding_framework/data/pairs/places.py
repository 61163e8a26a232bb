"""Where in a source something can be changed: questions about nodes of its syntax tree."""

from __future__ import annotations

import re
from collections.abc import Callable

from tree_sitter import Node

from coding_framework.cuda.analysis.syntax import text
from coding_framework.data.pairs.source_edit import is_plan_line, nodes


def binary_expressions(source: str, operator: str) -> list[Node]:
    return [n for n in nodes(source, "binary_expression") if text(n.children[1]) == operator]


def plan_changes(source: str, pattern: re.Pattern[str], change: Callable[[re.Match[str]], str]) -> list[str]:
    """One mistake in each place of each plan line."""
    lines, found = source.split("\n"), []
    for number, line in enumerate(lines):
        for match in pattern.finditer(line) if is_plan_line(line) else ():
            changed = line[: match.start()] + change(match) + line[match.end() :]
            found.append("\n".join([*lines[:number], changed, *lines[number + 1 :]]))
    return found


def is_inside(node: Node, *types: str) -> bool:
    at: Node | None = node.parent
    while at is not None:
        if at.type in types:
            return True
        at = at.parent
    return False


def is_in_loop_head(node: Node) -> bool:
    """Whether it belongs to the head of a `for`."""
    at: Node | None = node
    while at is not None and at.parent is not None:
        if at.parent.type == "for_statement":
            return at != at.parent.child_by_field_name("body")
        at = at.parent
    return False


def is_use(node: Node) -> bool:
    parent = node.parent
    return parent is not None and not parent.type.endswith(("declarator", "declaration"))


def integer_parameters(source: str) -> list[str]:
    return [
        text(node.children[-1])
        for node in nodes(source, "parameter_declaration")
        if text(node).startswith("int ")
    ]
