"""How a kernel is laid out: indentation, braces, blank lines, remarks.

Guarantees: nothing but white space, braces around single statements and remarks changes, so the
compiler sees the same tokens (apart from those braces).
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

from tree_sitter import Node

from coding_framework.cuda.analysis.syntax import text
from coding_framework.data.pairs.source_edit import (
    Edit,
    apply_edits,
    is_plan_line,
    nodes,
    without_remarks,
)

_BARE = ("expression_statement", "return_statement")
_OPENING = re.compile(r"^(\s*)(.*\S)\s*\{$")


@dataclass(frozen=True)
class Layout:
    """Choices that change no token but braces."""

    indent: str = "    "
    brace_on_own_line: bool = False
    bare_statements: bool = False
    blank_before_code: bool = False
    keep_remarks: bool = True
    closing_remark: bool = False


def draw_layout(rng: random.Random) -> Layout:
    """The catalogue's own layout a third of the time."""
    if rng.random() < 1 / 3:
        return Layout(keep_remarks=rng.random() < 0.5)
    return Layout(
        indent=rng.choice(("  ", "    ", "    ", "   ", "\t")),
        brace_on_own_line=rng.random() < 0.3,
        bare_statements=rng.random() < 0.4,
        blank_before_code=rng.random() < 0.2,
        keep_remarks=rng.random() < 0.3,
        closing_remark=rng.random() < 0.1,
    )


def lay_out(source: str, layout: Layout) -> str:
    """The source in this layout."""
    changed = source if layout.keep_remarks else without_remarks(source)
    if layout.bare_statements:
        changed = _without_single_braces(changed)
    lines: list[str] = []
    for line in changed.strip("\n").split("\n"):
        lines += _lay_out_line(line, layout)
    if layout.blank_before_code:
        at = next((n for n, line in enumerate(lines) if "__global__" in line or "__device__" in line), 0)
        lines.insert(at, "")
    if layout.closing_remark and lines[-1] == "}":
        lines[-1] = "}  // end of kernel"
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _lay_out_line(line: str, layout: Layout) -> list[str]:
    if is_plan_line(line):
        return [line.strip()]
    body = line.lstrip(" ")
    depth, rest = divmod(len(line) - len(body), 4)
    line = layout.indent * depth + " " * rest + body
    opened = _OPENING.match(line) if layout.brace_on_own_line else None
    if opened is None or opened[2].startswith(("//", "#")) or opened[2].endswith(("=", ",", "(")):
        return [line]
    indent, head = opened.groups()
    if head.startswith("} "):
        return [f"{indent}}}", f"{indent}{head[2:]}", f"{indent}{{"]
    return [f"{indent}{head}", f"{indent}{{"]


def _without_single_braces(source: str) -> str:
    """`if (i < n) { y[i] = 0; }` without its braces."""
    edits: list[Edit] = []
    for block in nodes(source, "compound_statement"):
        inner = _only_statement(block)
        if inner is not None and not any(edit.start <= block.start_byte < edit.end for edit in edits):
            edits.append(_bare(block, inner))
    return apply_edits(source, edits)


def _only_statement(block: Node) -> Node | None:
    parent = block.parent
    if parent is None or parent.type not in ("if_statement", "for_statement"):
        return None
    if any(child.type == "else_clause" for child in parent.children):
        return None
    statements = block.named_children
    return statements[0] if len(statements) == 1 and statements[0].type in _BARE else None


def _bare(block: Node, inner: Node) -> Edit:
    between = text(block)[1 : inner.start_byte - block.start_byte]
    return Edit.of(block, f"{between.rstrip(' ')}{' ' * _trailing(between)}{text(inner)}")


def _trailing(between: str) -> int:
    return len(between) - len(between.rstrip(" "))
