"""Integer expressions over named dimensions, as launch plans and tensor shapes use them.

Grammar (no `eval`, ever):

    sum     := product (("+" | "-") product)*
    product := unary (("*" | "/" | "//" | "%") unary)*
    unary   := "-" unary | atom
    atom    := NUMBER | NAME | NAME "(" sum ("," sum)* ")" | "(" sum ")"

`/` and `//` both divide and round down, as in C for the non-negative values met here. Functions:
`min`, `max`, `ceil_div(a, b)` and `ceil(a / b)` as people write it. Guarantees: parsing is linear,
values stay below 2**63, and every error quotes the text and says what was expected.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Annotated, Any, NoReturn

from pydantic import BeforeValidator, PlainSerializer

from coding_framework.errors import ExpressionError

MAX_EXPRESSION_CHARS = 400
MAX_DEPTH = 32
_LIMIT = 2**63
_TOKEN = re.compile(r"\s*(?:(\d+)|([A-Za-z_]\w*)|(//|[-+*/%(),]))")

_Node = tuple[Any, ...]


def _ceil_div(a: int, b: int) -> int:
    return -(-a // b)


_FUNCTIONS: dict[str, tuple[int | None, Callable[..., int]]] = {
    "min": (None, lambda *values: min(values)),
    "max": (None, lambda *values: max(values)),
    "ceil_div": (2, _ceil_div),
}


class Expression:
    """A parsed integer expression. Equal when the text is equal; hashable; immutable."""

    __slots__ = ("_root", "names", "text")

    def __init__(self, text: str) -> None:
        parser = _Parser(text)
        self.text = text.strip()
        self._root = parser.parse()
        self.names = frozenset(parser.names)

    def evaluate(self, dimensions: Mapping[str, int]) -> int:
        """The value for these dimensions, or `ExpressionError` saying why there is none."""
        return _evaluate(self._root, dimensions, self.text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expression) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"Expression({self.text!r})"

    def __reduce__(self) -> tuple[type[Expression], tuple[str]]:
        return Expression, (self.text,)


class _Parser:
    """Recursive descent over the tokens of one expression."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.names: set[str] = set()
        if len(text) > MAX_EXPRESSION_CHARS:
            raise ExpressionError(f"the expression is longer than {MAX_EXPRESSION_CHARS} characters")
        self.tokens = self._tokenise(text)
        self.position = 0
        self.depth = 0

    def _tokenise(self, text: str) -> list[str]:
        tokens, at, text = [], 0, text.rstrip()
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None:
                self._fail(f"unexpected character {text[at:].strip()[0]!r}")
            tokens.append(match.group().strip())
            at = match.end()
        return tokens

    def _fail(self, reason: str) -> NoReturn:
        raise ExpressionError(
            f"{reason} in the expression '{self.text.strip()}'; expected integers, dimension names, "
            "+ - * / // %, min, max, ceil_div(a, b) or ceil(a / b)"
        )

    def _peek(self) -> str | None:
        return self.tokens[self.position] if self.position < len(self.tokens) else None

    def _take(self) -> str:
        token = self._peek()
        if token is None:
            self._fail("the text ends too early")
        self.position += 1
        return token

    def _expect(self, wanted: str) -> None:
        token = self._take()
        if token != wanted:
            self._fail(f"expected '{wanted}' but found '{token}'")

    def parse(self) -> _Node:
        node = self._sum()
        rest = self._peek()
        if rest is not None:
            self._fail(f"unexpected '{rest}'")
        return node

    def _sum(self) -> _Node:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self._fail("too deeply nested")
        node = self._product()
        while self._peek() in ("+", "-"):
            node = (self._take(), node, self._product())
        self.depth -= 1
        return node

    def _product(self) -> _Node:
        node = self._unary()
        while self._peek() in ("*", "/", "//", "%"):
            node = (self._take(), node, self._unary())
        return node

    def _unary(self) -> _Node:
        negations = 0
        while self._peek() == "-":
            self._take()
            negations += 1
        node = self._atom()
        return ("neg", node) if negations % 2 else node

    def _atom(self) -> _Node:
        token = self._take()
        if token.isdigit():
            return ("num", int(token))
        if token == "(":
            node = self._sum()
            self._expect(")")
            return node
        if not (token[0].isalpha() or token[0] == "_"):
            self._fail(f"unexpected '{token}'")
        if self._peek() == "(":
            return self._call(token)
        self.names.add(token)
        return ("name", token)

    def _call(self, name: str) -> _Node:
        self._expect("(")
        arguments = [self._sum()]
        while self._peek() == ",":
            self._take()
            arguments.append(self._sum())
        self._expect(")")
        if name == "ceil":
            return self._ceil(arguments)
        if name not in _FUNCTIONS:
            self._fail(f"unknown function '{name}'")
        arity = _FUNCTIONS[name][0]
        if arity is not None and len(arguments) != arity:
            self._fail(f"{name} takes {arity} arguments, not {len(arguments)}")
        return ("call", name, *arguments)

    def _ceil(self, arguments: list[_Node]) -> _Node:
        """`ceil(a / b)` means rounding the quotient up, so the division inside must be kept."""
        if len(arguments) != 1:
            self._fail(f"ceil takes 1 argument, not {len(arguments)}")
        inner = arguments[0]
        return ("call", "ceil_div", inner[1], inner[2]) if inner[0] == "/" else inner


def _evaluate(node: _Node, dimensions: Mapping[str, int], text: str) -> int:
    kind = node[0]
    if kind == "num":
        value = int(node[1])
    elif kind == "name":
        if node[1] not in dimensions:
            known = ", ".join(sorted(dimensions)) or "none"
            raise ExpressionError(
                f"'{node[1]}' in '{text}' is not a dimension of this task (dimensions: {known})"
            )
        value = dimensions[node[1]]
    elif kind == "neg":
        value = -_evaluate(node[1], dimensions, text)
    else:
        value = _apply(node, dimensions, text)
    if not -_LIMIT < value < _LIMIT:
        raise ExpressionError(f"'{text}' overflows 64 bits")
    return value


def _apply(node: _Node, dimensions: Mapping[str, int], text: str) -> int:
    operands = [_evaluate(child, dimensions, text) for child in node[1 if node[0] != "call" else 2 :]]
    try:
        if node[0] == "call":
            return _FUNCTIONS[node[1]][1](*operands)
        left, right = operands
        return {
            "+": lambda: left + right,
            "-": lambda: left - right,
            "*": lambda: left * right,
            "/": lambda: left // right,
            "//": lambda: left // right,
            "%": lambda: left % right,
        }[node[0]]()
    except ZeroDivisionError:
        raise ExpressionError(f"'{text}' divides by zero for {dict(dimensions)}") from None


@lru_cache(maxsize=4096)
def parse_expression(text: str) -> Expression:
    """The parsed form of `text`; raises `ExpressionError`."""
    return Expression(text)


def _coerce(value: object) -> Expression:
    if isinstance(value, Expression):
        return value
    try:
        return parse_expression(str(value))
    except ExpressionError as error:
        raise ValueError(str(error)) from None


ExpressionField = Annotated[
    Expression, BeforeValidator(_coerce), PlainSerializer(lambda value: value.text, return_type=str)
]
"""An `Expression` as a pydantic field: given and stored as text."""
