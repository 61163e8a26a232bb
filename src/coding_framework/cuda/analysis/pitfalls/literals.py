"""Rule `double-precision-literal`: `0.1` where `0.1f` is meant, which makes float arithmetic double.

A literal that float holds exactly, in a single operation, is an info: the compiler can narrow it
again. One that float cannot hold, or one within a longer expression, is a warning. Functions that use
`double` on purpose are left alone, and so are plain initialisations, comparisons and constants.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator

from tree_sitter import Node

from coding_framework.cuda.analysis.pitfalls.lowering import SourceText
from coding_framework.cuda.analysis.pitfalls.report import pitfall
from coding_framework.cuda.analysis.syntax import line_of
from coding_framework.records.finding import Finding

_DOUBLE = re.compile(r"(?:\d[\d']*\.[\d']*|\.\d[\d']*|\d[\d']*(?=[eE]))(?:[eE][-+]?\d+)?$")
_MAYBE = re.compile(rb"(?<![\w.])(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][-+]?\d+)?(?![\w.])")
_ARITHMETIC = frozenset({"+", "-", "*", "/"})
_COMPOUND = frozenset({"+=", "-=", "*=", "/="})
_OVERLOADED = frozenset(
    {"max", "min", "fmax", "fmin", "pow", "fma", "fmod", "exp", "log", "sqrt", "tanh", "atan2", "hypot"}
)
_TRANSPARENT = frozenset({"parenthesized_expression", "unary_expression"})


def double_literals(function: Node, source: SourceText) -> Iterator[Finding]:
    """Double literals in the arithmetic of a function that has no `double`."""
    text = source.data[function.start_byte : function.end_byte]
    if b"double" in text or not _MAYBE.search(text):
        return
    stack = [function]
    while stack:
        node = stack.pop()
        if node.type == "number_literal":
            words = source.name(node)
            if _DOUBLE.match(words):
                yield from _judge(node, words, source)
        else:
            stack.extend(reversed(node.named_children))


def _judge(literal: Node, text: str, source: SourceText) -> Iterator[Finding]:
    node, parent = literal, literal.parent
    while parent is not None and parent.type in _TRANSPARENT:
        node, parent = parent, parent.parent
    if parent is None:
        return
    if parent.type == "binary_expression":
        other = _other_side(parent, node)
        symbol = parent.child_by_field_name("operator")
        if symbol is None or symbol.type not in _ARITHMETIC or not _varies(other, source):
            return
        outer = parent.parent
        while outer is not None and outer.type in _TRANSPARENT:
            outer = outer.parent
        is_nested = outer is not None and outer.type in ("binary_expression", "argument_list")
    elif parent.type == "assignment_expression":
        symbol = parent.child_by_field_name("operator")
        if symbol is None or symbol.type not in _COMPOUND:
            return
        is_nested = False
    elif parent.type == "argument_list" and _is_overloaded(parent, source):
        is_nested = True
    else:
        return
    yield _finding(literal, text, is_nested or not _fits_float(text))


def _other_side(parent: Node, side: Node) -> Node | None:
    left, right = parent.child_by_field_name("left"), parent.child_by_field_name("right")
    return right if left is not None and left.id == side.id else left


def _is_overloaded(arguments: Node, source: SourceText) -> bool:
    """A call of a function with a float version, with some other argument that is not constant."""
    call = arguments.parent
    name = source.words(call.child_by_field_name("function")) if call is not None else ""
    return name.rpartition("::")[2] in _OVERLOADED and any(
        _varies(child, source) for child in arguments.named_children
    )


def _varies(node: Node | None, source: SourceText) -> bool:
    """Whether it holds a name that is no constant by custom (all capitals)."""
    stack = [node] if node is not None else []
    while stack:
        current = stack.pop()
        if current.type == "identifier" and not source.name(current).isupper():
            return True
        stack.extend(current.named_children)
    return False


def _fits_float(text: str) -> bool:
    value = float(text.replace("'", ""))
    try:
        return bool(struct.unpack("f", struct.pack("f", value))[0] == value)
    except OverflowError:
        return False


def _finding(node: Node, text: str, is_slow: bool) -> Finding:
    what = (
        "makes this arithmetic double precision, with conversions around it"
        if is_slow
        else "asks for double precision, which the compiler can narrow again only because it is this simple"
    )
    return pitfall(
        "double-precision-literal",
        "warning" if is_slow else "info",
        line_of(node),
        f"`{text}` is a double literal: it {what}; double arithmetic is 2 to 64 times slower than float",
        f"Write `{text}f`" + (" and the float functions (expf, sqrtf, powf, fmaxf)." if is_slow else "."),
    )
