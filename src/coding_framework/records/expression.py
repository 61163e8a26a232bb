"""Integer expressions over named dimensions, as launch plans and tensor shapes use them.

Grammar (no `eval`, ever):

    sum     := product (("+" | "-") product)*
    product := unary (("*" | "/" | "//" | "%") unary)*
    unary   := "-" unary | atom
    atom    := NUMBER | NAME | NAME "(" sum ("," sum)* ")" | "(" sum ")" | "sizeof" "(" NAME+ ")"

`/` and `//` both divide and round down, as in C for the non-negative values met here. Functions:
`min`, `max`, `ceil_div(a, b)` and `ceil(a / b)` as people write it. `sizeof` knows the types of C++ and CUDA
by name (`type_sizes.py`), none that a source declares. Guarantees: parsing is linear, values stay below
2**63, nesting and length are bounded, evaluating does not recurse, only ASCII is read, and every error
quotes the text and says what was expected.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Annotated, Any, NoReturn

from pydantic import BeforeValidator, PlainSerializer

from coding_framework.errors import ExpressionError
from coding_framework.records.type_sizes import TYPE_SIZES

MAX_EXPRESSION_CHARS = 400
MAX_DEPTH = 32
_LIMIT = 2**63
_TOKEN = re.compile(r"[ \t]*+(?:([0-9]++)|([A-Za-z_][A-Za-z_0-9]*+)|(//|[-+*/%(),]))")

_Step = tuple[str, Any]
"""One step of a program for a stack machine: an operator, or what to push or call."""


def _ceil_div(a: int, b: int) -> int:
    return -(-a // b)


_FUNCTIONS: dict[str, tuple[int | None, Callable[..., int]]] = {
    "min": (None, lambda *values: min(values)),
    "max": (None, lambda *values: max(values)),
    "ceil_div": (2, _ceil_div),
}
_OPERATORS: dict[str, Callable[..., int]] = {
    "neg": operator.neg,
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.floordiv,
    "//": operator.floordiv,
    "%": operator.mod,
}


class Expression:
    """A parsed integer expression. Equal when the text is equal; hashable; immutable."""

    __slots__ = ("_program", "names", "text")

    def __init__(self, text: str) -> None:
        parser = _Parser(text)
        self.text = text.strip()
        self._program = parser.parse()
        self.names = frozenset(parser.names)

    def evaluate(self, dimensions: Mapping[str, int]) -> int:
        """The value for these dimensions, or `ExpressionError` saying why there is none."""
        return _evaluate(self._program, dimensions, self.text)

    def with_values(self, values: Mapping[str, int]) -> Expression:
        """The same with numbers in place of the names that have a value; `ExpressionError` if too long."""
        if self.names.isdisjoint(values):
            return self
        parser = _Parser(self.text)
        parser.parse()
        text = self.text
        for at, match in reversed(list(enumerate(_TOKEN.finditer(self.text)))):
            if at in parser.name_positions and match[2] in values:
                value = values[match[2]]
                start, end = match.span(2)
                text = f"{text[:start]}{value if value >= 0 else f'({value})'}{text[end:]}"
        return parse_expression(text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expression) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"Expression({self.text!r})"

    def __reduce__(self) -> tuple[type[Expression], tuple[str]]:
        return Expression, (self.text,)


class _Parser:
    """Recursive descent over the tokens of one expression; writes operands before their operator."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.names: set[str] = set()
        self.name_positions: set[int] = set()
        """Of the tokens that stand for a value: functions and the types of `sizeof` do not."""
        if len(text) > MAX_EXPRESSION_CHARS:
            raise ExpressionError(f"the expression is longer than {MAX_EXPRESSION_CHARS} characters")
        self.tokens = self._tokenise(text)
        self.position = 0
        self.depth = 0
        self.program: list[_Step] = []

    def _tokenise(self, text: str) -> list[str]:
        tokens, at, text = [], 0, text.rstrip(" \t\r\n")
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None:
                self._fail(f"unexpected character {text[at:].lstrip(' ' + chr(9))[0]!a}")
            tokens.append(match.group().strip())
            at = match.end()
        return tokens

    def _fail(self, reason: str) -> NoReturn:
        raise ExpressionError(
            f"{reason} in the expression {self.text.strip()!a}; expected integers, dimension names, "
            "+ - * / // %, min, max, ceil_div(a, b), ceil(a / b) or sizeof(float)"
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

    def parse(self) -> tuple[_Step, ...]:
        self._sum()
        rest = self._peek()
        if rest is not None:
            self._fail(f"unexpected '{rest}'")
        return tuple(self.program)

    def _sum(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self._fail("too deeply nested")
        self._product()
        while self._peek() in ("+", "-"):
            sign = self._take()
            self._product()
            self.program.append((sign, 2))
        self.depth -= 1

    def _product(self) -> None:
        self._unary()
        while self._peek() in ("*", "/", "//", "%"):
            sign = self._take()
            self._unary()
            self.program.append((sign, 2))

    def _unary(self) -> None:
        negations = 0
        while self._peek() == "-":
            self._take()
            negations += 1
        self._atom()
        if negations % 2:
            self.program.append(("neg", 1))

    def _atom(self) -> None:
        token = self._take()
        if token.isdigit():
            self.program.append(("push", int(token)))
        elif token == "(":
            self._sum()
            self._expect(")")
        elif not (token[0].isalpha() or token[0] == "_"):
            self._fail(f"unexpected '{token}'")
        elif self._peek() == "(":
            self._sizeof() if token == "sizeof" else self._call(token)
        else:
            self.names.add(token)
            self.name_positions.add(self.position - 1)
            self.program.append(("name", token))

    def _call(self, name: str) -> None:
        self._expect("(")
        self._sum()
        count = 1
        while self._peek() == ",":
            self._take()
            self._sum()
            count += 1
        self._expect(")")
        if name == "ceil":
            self._ceil(count)
            return
        if name not in _FUNCTIONS:
            self._fail(f"unknown function '{name}'")
        arity = _FUNCTIONS[name][0]
        if arity is not None and count != arity:
            self._fail(f"{name} takes {arity} arguments, not {count}")
        self.program.append((name, count))

    def _sizeof(self) -> None:
        self._expect("(")
        words: list[str] = []
        while self._peek() not in (")", None):
            words.append(self._take())
        self._expect(")")
        size = TYPE_SIZES.get(" ".join(words))
        if size is None:
            self._fail(f"the size of the type '{' '.join(words)}' is not known")
        self.program.append(("push", size))

    def _ceil(self, count: int) -> None:
        """`ceil(a / b)` means rounding the quotient up: the division that was written last is replaced."""
        if count != 1:
            self._fail(f"ceil takes 1 argument, not {count}")
        if self.program[-1][0] == "/":
            self.program[-1] = ("ceil_div", 2)


def _evaluate(program: tuple[_Step, ...], dimensions: Mapping[str, int], text: str) -> int:
    stack: list[int] = []
    for kind, detail in program:
        if kind == "push":
            value = int(detail)
        elif kind == "name":
            value = _dimension(detail, dimensions, text)
        else:
            operands = stack[-detail:]
            del stack[-detail:]
            value = _apply(kind, operands, dimensions, text)
        if not -_LIMIT < value < _LIMIT:
            raise ExpressionError(f"'{text}' overflows 64 bits")
        stack.append(value)
    return stack[0]


def _dimension(name: str, dimensions: Mapping[str, int], text: str) -> int:
    if name not in dimensions:
        known = ", ".join(sorted(dimensions)) or "none"
        raise ExpressionError(f"'{name}' in '{text}' is not a dimension of this task (dimensions: {known})")
    return dimensions[name]


def _apply(name: str, operands: list[int], dimensions: Mapping[str, int], text: str) -> int:
    try:
        function = _FUNCTIONS[name][1] if name in _FUNCTIONS else _OPERATORS[name]
        return function(*operands)
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
