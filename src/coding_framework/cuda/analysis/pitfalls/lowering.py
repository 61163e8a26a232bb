"""From the syntax tree to the small language of `ir`.

Guarantees: it never raises on any tree and never recurses deeper than `MAX_DEPTH`; what lies deeper,
or has no word in the language, becomes `Opaque`. It does not resolve overloads, templates or types.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from tree_sitter import Node

from coding_framework.cuda.analysis.pitfalls import ir
from coding_framework.cuda.analysis.pitfalls.sizes import type_words
from coding_framework.cuda.analysis.syntax import line_of

MAX_DEPTH = 48
NOTHING = ir.Opaque(())
_BUILTINS = frozenset({"threadIdx", "blockIdx", "blockDim", "gridDim"})
_TRANSPARENT = frozenset(
    {"parenthesized_expression", "condition_clause", "expression_statement", "else_clause"}
)
_CASTS = frozenset({"static_cast", "reinterpret_cast", "const_cast", "__builtin_assume_aligned"})
_INTEGER = re.compile(r"(0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)[uUlLzZ]*$")


class SourceText:
    """Words of nodes, cut from the source itself: a node's own `text` asks the parser again."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def name(self, node: Node | None) -> str:
        """The text of a short node, such as a name."""
        if node is None:
            return ""
        return self.data[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def words(self, node: Node | None, limit: int = 72) -> str:
        """A node's words on one line, cut at `limit`."""
        if node is None:
            return ""
        end = min(node.end_byte, node.start_byte + 4 * limit)
        words = " ".join(self.data[node.start_byte : end].decode("utf-8", "replace").split())
        return words if len(words) <= limit else words[: limit - 1] + "…"


def integer(text: str) -> int | None:
    """The value of an integer literal; None for any other number."""
    match = _INTEGER.match(text.replace("'", ""))
    if match is None or len(text) > 40:
        return None
    digits = match.group(1)
    value = int(digits, 8 if len(digits) > 1 and digits.isdigit() and digits[0] == "0" else 0)
    return value if value < 2**46 else None


class Lowering(SourceText):
    """Reads nodes into the small language; one instance for a source."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self._depth = 0
        self._effects: list[tuple[set[str], set[str], set[str]]] = []
        """For each loop being read: names assigned, names stored through, functions called."""

    def expression(self, node: Node | None) -> ir.Expression:
        """The expression that a node stands for."""
        while node is not None and node.type in _TRANSPARENT:
            node = _inner(node)
        if node is None or self._depth >= MAX_DEPTH:
            return NOTHING
        reader = _EXPRESSIONS.get(node.type)
        self._depth += 1
        try:
            return reader(self, node) if reader is not None else self._opaque(node)
        except ValueError:
            return NOTHING
        finally:
            self._depth -= 1

    def _opaque(self, node: Node) -> ir.Expression:
        return ir.Opaque(tuple(self.expression(child) for child in node.named_children))

    def _number(self, node: Node) -> ir.Expression:
        return ir.Number(integer(self.name(node)))

    def _truth(self, node: Node) -> ir.Expression:
        return ir.Number(int(node.type == "true"))

    def _name(self, node: Node) -> ir.Expression:
        return ir.Name(self.name(node))

    def _qualified(self, node: Node) -> ir.Expression:
        return ir.Name(self.words(node).rpartition("::")[2])

    def _binary(self, node: Node) -> ir.Expression:
        """A chain `a + b + c + …` leans to the left: its spine is read in a loop, not by recursion."""
        spine = [node]
        while True:
            left = spine[-1].child_by_field_name("left")
            while left is not None and left.type == "parenthesized_expression":
                left = _inner(left)
            if left is None or left.type != "binary_expression":
                break
            spine.append(left)
        if len(spine) > MAX_DEPTH:
            return NOTHING
        result = self.expression(left)
        for part in reversed(spine):
            right = self.expression(part.child_by_field_name("right"))
            symbol = part.child_by_field_name("operator")
            word = symbol.type if symbol is not None else ""
            words = self.words(part) if word in "/%" else ""
            result = ir.Binary(word, result, right, line_of(part), words)
        return result

    def _unary(self, node: Node) -> ir.Expression:
        symbol = node.child_by_field_name("operator")
        operand = self.expression(node.child_by_field_name("argument"))
        return ir.Unary(symbol.type if symbol is not None else "", operand)

    def _pointer(self, node: Node) -> ir.Expression:
        operand = self.expression(node.child_by_field_name("argument"))
        if node.children and node.children[0].type == "&":
            return ir.AddressOf(operand)
        return ir.Index(operand, ir.Number(0), line_of(node), self.words(node))

    def _note_target(self, target: ir.Expression) -> None:
        """Tell every open loop what is changed."""
        which = 0
        below: ir.Expression | None = target
        while not isinstance(below, ir.Name):
            if below is None:
                return
            which, below = 1, _below(below)
        for effects in self._effects:
            effects[which].add(below.name)

    def _update(self, node: Node) -> ir.Expression:
        target = self.expression(node.child_by_field_name("argument"))
        self._note_target(target)
        down = any(child.type == "--" for child in node.children)
        return ir.Assign(target, "-" if down else "+", ir.Number(1), line_of(node), self.words(node))

    def _assignment(self, node: Node) -> ir.Expression:
        symbol = node.child_by_field_name("operator")
        target = self.expression(node.child_by_field_name("left"))
        self._note_target(target)
        return ir.Assign(
            target,
            (symbol.type if symbol is not None else "=")[:-1],
            self.expression(node.child_by_field_name("right")),
            line_of(node),
            self.words(node),
        )

    def _choice(self, node: Node) -> ir.Expression:
        parts = ("condition", "consequence", "alternative")
        return ir.Choice(*(self.expression(node.child_by_field_name(part)) for part in parts))

    def _subscript(self, node: Node) -> ir.Expression:
        base = self.expression(node.child_by_field_name("argument"))
        indices = node.child_by_field_name("indices")
        inner = [] if indices is None else indices.named_children
        index = self.expression(inner[0]) if len(inner) == 1 else NOTHING
        return ir.Index(base, index, line_of(node), self.words(node))

    def _field(self, node: Node) -> ir.Expression:
        operand, field = node.child_by_field_name("argument"), self.name(node.child_by_field_name("field"))
        if operand is not None and operand.type == "identifier" and self.name(operand) in _BUILTINS:
            return ir.Builtin(f"{self.name(operand)}.{field}")
        return ir.Member(self.expression(operand), field)

    def _cast(self, node: Node) -> ir.Expression:
        return self._converted(node.child_by_field_name("type"), node.child_by_field_name("value"))

    def _converted(self, type_node: Node | None, value: Node | None) -> ir.Expression:
        words = type_words(self.words(type_node, 200))
        is_pointer = "*" in self.words(type_node, 200)
        return ir.Cast(self.expression(value), is_pointer, words.element_bytes, words.is_float)

    def _call(self, node: Node) -> ir.Expression:
        function = node.child_by_field_name("function")
        arguments = node.child_by_field_name("arguments")
        given = [] if arguments is None else arguments.named_children
        if function is None or any(child.type == "kernel_call_syntax" for child in node.children):
            return NOTHING
        if function.type == "primitive_type" or function.type == "sized_type_specifier":
            return self._converted(function, given[0] if given else None)
        if function.type == "template_function":
            name = self.name(function.child_by_field_name("name"))
            types = function.child_by_field_name("arguments")
            if name in _CASTS and types is not None and given:
                return self._converted(_inner(types), given[0])
        is_method = function.type == "field_expression"
        parts = tuple(self.expression(child) for child in given)
        if is_method:
            name = self.name(function.child_by_field_name("field"))
            parts = (self.expression(function.child_by_field_name("argument")), *parts)
        else:
            name = self.name(function).partition("<")[0].rpartition("::")[2]
        for effects in self._effects:
            effects[2].add(name)
        return ir.Call(name, parts, is_method, line_of(node), self.words(node))

    def _assembly(self, node: Node) -> ir.Expression:
        return ir.Call("asm", (), False, line_of(node), "asm")

    def _none(self, node: Node) -> ir.Expression:
        return NOTHING

    def _size(self, node: Node) -> ir.Expression:
        words = type_words(self.words(node.child_by_field_name("type"), 200))
        return ir.Number(words.element_bytes or None)


def _below(expression: ir.Expression) -> ir.Expression | None:
    """What an lvalue is taken from."""
    if isinstance(expression, ir.Index):
        return expression.base
    if isinstance(expression, ir.Member | ir.Cast | ir.AddressOf):
        return expression.operand
    return expression.left if isinstance(expression, ir.Binary) else None


def _inner(node: Node) -> Node | None:
    return next((child for child in node.named_children if child.type != "comment"), None)


_EXPRESSIONS: dict[str, Callable[[Lowering, Node], ir.Expression]] = {
    "number_literal": Lowering._number,
    "true": Lowering._truth,
    "false": Lowering._truth,
    "identifier": Lowering._name,
    "qualified_identifier": Lowering._qualified,
    "binary_expression": Lowering._binary,
    "unary_expression": Lowering._unary,
    "pointer_expression": Lowering._pointer,
    "update_expression": Lowering._update,
    "assignment_expression": Lowering._assignment,
    "conditional_expression": Lowering._choice,
    "subscript_expression": Lowering._subscript,
    "field_expression": Lowering._field,
    "cast_expression": Lowering._cast,
    "call_expression": Lowering._call,
    "gnu_asm_expression": Lowering._assembly,
    "lambda_expression": Lowering._none,
    "sizeof_expression": Lowering._size,
}
