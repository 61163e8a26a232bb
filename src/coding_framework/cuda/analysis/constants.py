"""Integer constants and sizes of types, as far as a syntax tree gives them.

Knows literals, `constexpr`/`const` integers, enumerators, arithmetic and `sizeof`; templates and names
of headers are unknown (None). Recursion is bounded: a deeper expression is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from tree_sitter import Node

from coding_framework.cuda.analysis.syntax import declared_name, qualifiers, text

MAX_DEPTH = 60
MAX_BITS = 1 << 62
_LITERAL = re.compile(r"(0[xX][0-9a-fA-F]+|0[bB][01]+|0[0-7]*|[1-9][0-9]*)[uUlLzZ]*")
_SIZES = {
    "bool": 1, "char": 1, "int8_t": 1, "uint8_t": 1, "short": 2, "int16_t": 2, "uint16_t": 2, "half": 2,
    "__half": 2, "__nv_bfloat16": 2, "nv_bfloat16": 2, "int": 4, "unsigned": 4, "float": 4, "int32_t": 4,
    "uint32_t": 4, "uint": 4, "half2": 4, "__half2": 4, "char4": 4, "uchar4": 4, "long": 8, "double": 8,
    "int64_t": 8, "uint64_t": 8, "size_t": 8, "float2": 8, "int2": 8, "uint2": 8, "float3": 12, "float4": 16,
    "int4": 16, "uint4": 16, "double2": 16, "longlong2": 16, "double4": 32, "uintptr_t": 8, "clock_t": 8,
}  # fmt: skip
_OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: int(a / b) if b else 0,
    "%": lambda a, b: a % b if b else 0,
    "<<": lambda a, b: a << b if 0 <= b < 64 else 0,
    ">>": lambda a, b: a >> b if 0 <= b < 64 else 0,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
}
UNKNOWN_TYPE_BYTES = 4
"""A template's or a header's type is taken for a float."""


class Constants:
    """The integer constants that a source names."""

    def __init__(self, declarations: Iterable[Node], enumerators: Iterable[Node] = ()) -> None:
        self._values: dict[str, int] = {}
        for declaration in declarations:
            if qualifiers(declaration) & {"const", "constexpr"}:
                self._learn(declaration)
        for enumerator in enumerators:
            value = self.value(enumerator.child_by_field_name("value"))
            if value is not None:
                self._values[text(enumerator.child_by_field_name("name"))] = value

    def _learn(self, declaration: Node) -> None:
        for child in declaration.children_by_field_name("declarator"):
            value = (
                self.value(child.child_by_field_name("value")) if child.type == "init_declarator" else None
            )
            if value is not None:
                self._values[declared_name(child)] = value

    def value(self, node: Node | None, depth: int = 0) -> int | None:
        """The integer that an expression stands for; None when it cannot be known."""
        if node is None or depth > MAX_DEPTH:
            return None
        if node.type == "number_literal":
            return literal_value(text(node))
        if node.type == "identifier":
            return self._values.get(text(node))
        if node.type in ("parenthesized_expression", "condition_clause") and node.named_child_count == 1:
            return self.value(node.named_children[0], depth + 1)
        if node.type == "binary_expression":
            return self._binary(node, depth)
        if node.type == "unary_expression":
            value = self.value(node.child_by_field_name("argument"), depth + 1)
            return -value if value is not None and text(node).startswith("-") else value
        if node.type == "cast_expression":
            return self.value(node.child_by_field_name("value"), depth + 1)
        if node.type == "sizeof_expression":
            described = node.child_by_field_name("type")
            return type_bytes(text(described)) if described is not None else None
        return {"true": 1, "false": 0}.get(node.type)

    def _binary(self, node: Node, depth: int) -> int | None:
        left = self.value(node.child_by_field_name("left"), depth + 1)
        right = self.value(node.child_by_field_name("right"), depth + 1)
        operation = _OPERATIONS.get(text(node.child_by_field_name("operator")))
        if left is None or right is None or operation is None or max(abs(left), abs(right)) > MAX_BITS:
            return None
        return operation(left, right)

    def array_bytes(self, declaration: Node, declarator: Node) -> int | None:
        """Size of what one declarator declares; None when an extent is unknown. Pointers are 8 bytes."""
        size = type_bytes(text(declaration.child_by_field_name("type")))
        node: Node | None = declarator
        while node is not None and node.type != "identifier":
            if node.type == "array_declarator":
                extent = self.value(node.child_by_field_name("size"))
                if extent is None:
                    return None
                size *= max(extent, 0)
            elif node.type == "pointer_declarator":
                size = 8
            node = node.child_by_field_name("declarator")
        return size


def literal_value(written: str) -> int | None:
    """The value of an integer literal; None for floats and nonsense."""
    match = _LITERAL.fullmatch(written.replace("'", "")) if len(written) < 40 else None
    if match is None:
        return None
    digits = match[1].lower()
    if digits.startswith(("0x", "0b")):
        return int(digits, 0)
    return int(digits, 8) if digits.startswith("0") else int(digits)


def type_bytes(written: str) -> int:
    """Size of a type by its words: `unsigned long long`, `float4`, `std::uint8_t`."""
    words = [
        word for word in re.split(r"[\s:]+", written) if word not in ("std", "signed", "const", "struct")
    ]
    if "*" in written:
        return 8
    if "long" in words or "double" in words:
        return 8
    if len(words) > 1:
        words = [word for word in words if word != "unsigned"] or ["unsigned"]
    return _SIZES.get(words[-1] if words else "", UNKNOWN_TYPE_BYTES)
