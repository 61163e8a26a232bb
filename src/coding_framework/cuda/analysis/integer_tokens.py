"""The value of a small integer expression of C++, given as tokens.

Stricter than `constants.py`, which may guess: here a value is the one that every compiler finds, or there
is none. So each step must stay between 0 and 2**31 - 1, where signed and unsigned, long and short agree.
Knows literals, names that it is given values for, `+ - * / % << >>`, parentheses and `sizeof` of the types
in `type_sizes.py`. Guarantees: linear in the number of tokens, which is bounded, as is the nesting.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping

from coding_framework.cuda.analysis.constants import literal_value
from coding_framework.cuda.analysis.tokens import Token
from coding_framework.records.type_sizes import TYPE_SIZES

MAX_VALUE = 2**31 - 1
MAX_TOKENS = 200
MAX_DEPTH = 32
_STRENGTH = {"*": 3, "/": 3, "%": 3, "+": 2, "-": 2, "<<": 1, ">>": 1}
_OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "*": operator.mul,
    "/": operator.floordiv,
    "%": operator.mod,
    "+": operator.add,
    "-": operator.sub,
    "<<": operator.lshift,
    ">>": operator.rshift,
}
_MAX_SHIFT = 31


class _Unknown(Exception):
    """It is no such expression."""


def integer_value(tokens: Iterable[Token], known: Mapping[str, int]) -> int | None:
    """The integer that the tokens stand for; None where that is not certain."""
    words = [token.text for token in tokens if token.kind not in ("space", "line")]
    if len(words) > MAX_TOKENS:
        return None
    reader = _Reader(words, known)
    try:
        value = reader.expression(1, 0)
    except _Unknown:
        return None
    return value if reader.at == len(words) else None


class _Reader:
    """Precedence climbing over the words of one expression."""

    def __init__(self, words: list[str], known: Mapping[str, int]) -> None:
        self.words = words
        self.known = known
        self.at = 0

    def expression(self, weakest: int, depth: int) -> int:
        left = self._atom(depth)
        while (strength := _STRENGTH.get(self._peek(), 0)) >= weakest:
            sign = self._take()
            left = _applied(sign, left, self.expression(strength + 1, depth))
        return left

    def _atom(self, depth: int) -> int:
        word = self._take()
        if word == "(" and depth < MAX_DEPTH:
            value = self.expression(1, depth + 1)
            self._expect(")")
            return value
        if word == "sizeof":
            return self._size()
        found = literal_value(word) if word[0].isdigit() else self.known.get(word)
        return _within_range(found)

    def _size(self) -> int:
        self._expect("(")
        name: list[str] = []
        while self._peek() not in (")", ""):
            name.append(self._take())
        self._expect(")")
        return _within_range(TYPE_SIZES.get(" ".join(name)))

    def _peek(self) -> str:
        return self.words[self.at] if self.at < len(self.words) else ""

    def _take(self) -> str:
        word = self._peek()
        if not word:
            raise _Unknown
        self.at += 1
        return word

    def _expect(self, wanted: str) -> None:
        if self._take() != wanted:
            raise _Unknown


def _applied(sign: str, left: int, right: int) -> int:
    if (sign in "/%" and right == 0) or (sign in ("<<", ">>") and right >= _MAX_SHIFT):
        raise _Unknown
    return _within_range(_OPERATIONS[sign](left, right))


def _within_range(value: int | None) -> int:
    if value is None or not 0 <= value <= MAX_VALUE:
        raise _Unknown
    return value
