"""Expands the macros that a source defines itself, so that what they hide stands in the syntax tree.

Follows the standard's algorithm (a set of names that each token may not expand again, arguments
expanded first unless they are pasted or made a string). Conditions are not evaluated: a macro with
several definitions is expanded with the last one, or the first one when asked. Macros of headers are
unknown, except those that paste. Work is bounded: `ExpansionLimit` is raised past `MAX_STEPS`, and where
macros stand for macros more than `MAX_CHAIN` times over.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from coding_framework.cuda.analysis.tokens import Token

MAX_STEPS = 60_000
MAX_ARGUMENT_DEPTH = 40
MAX_CHAIN = 200
"""Each link adds a name to the sets that every token carries: 6,000 links took 8 s within `MAX_STEPS`."""
_NONE: frozenset[str] = frozenset()
_SIGNIFICANT = frozenset({"name", "number", "text", "punct"})


class ExpansionLimit(Exception):
    """The macros grow without end; the message says on which line."""

    def __init__(self, line: int) -> None:
        super().__init__(f"line {line}")
        self.line = line


@dataclass(frozen=True)
class Macro:
    """One `#define`."""

    name: str
    parameters: tuple[str, ...] | None
    """None for an object-like macro; a variadic one ends in `__VA_ARGS__`."""
    body: tuple[Token, ...]
    line: int

    @property
    def pastes(self) -> bool:
        return any(token.text == "##" for token in self.body)


class Paste(NamedTuple):
    """A name that `##` built."""

    text: str
    line: int


class _Item(NamedTuple):
    token: Token
    hidden: frozenset[str]


@dataclass
class Expander:
    """State of one pass over a source."""

    table: dict[str, Macro]
    pastes: list[Paste] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    steps: int = 0

    def expand(self, tokens: list[Token]) -> list[Token]:
        """The tokens with every macro of the table replaced; lines stay those of the call."""
        output: list[Token] = []
        at = 0
        while at < len(tokens):
            token = tokens[at]
            at += 1
            if token.text not in self.table or token.kind != "name":
                output.append(token)
                continue
            end = self._end_of_use(tokens, at)
            items = [_Item(token, _NONE) for token in tokens[at - 1 : end]]
            output += _spaced([item.token for item in self._run(items, 0)])
            at = end
        return output

    def _end_of_use(self, tokens: list[Token], start: int) -> int:
        """Past all the `(...)` that follow a macro's name, as what it stands for may take them."""
        end, depth = start, 0
        for at in range(start, len(tokens)):
            kind, text, line = tokens[at]
            if kind == "punct" and text in "()":
                depth += 1 if text == "(" else -1
                end = at + 1 if depth == 0 else end
            if depth < 0 or (depth == 0 and kind not in ("space", "line") and text != ")"):
                break
            self._count(1, line)
        return end

    def _run(self, items: list[_Item], depth: int) -> list[_Item]:
        if depth > MAX_ARGUMENT_DEPTH:
            raise ExpansionLimit(items[0].token.line if items else 1)
        output: list[_Item] = []
        pending = items[::-1]
        while pending:
            item = pending.pop()
            macro = self.table.get(item.token.text) if item.token.kind == "name" else None
            if macro is None or macro.name in item.hidden:
                output.append(item)
                continue
            replacement = self._replace(macro, item, pending, depth)
            if replacement is None:
                output.append(item)
            else:
                self._count(len(replacement) + 1, item.token.line)
                pending.extend(reversed(replacement))
        return output

    def _count(self, steps: int, line: int) -> None:
        self.steps += steps
        if self.steps > MAX_STEPS:
            raise ExpansionLimit(line)

    def _replace(self, macro: Macro, item: _Item, pending: list[_Item], depth: int) -> list[_Item] | None:
        """What stands for this use, or None for a function-like name without arguments."""
        line = item.token.line
        hidden = item.hidden | {macro.name}
        if len(hidden) > MAX_CHAIN:
            raise ExpansionLimit(line)
        if macro.parameters is None:
            self.used.add(macro.name)
            return self._substitute(macro, {}, line, hidden, depth)
        num_looked_at, arguments, newlines = _take_arguments(pending)
        self._count(num_looked_at, line)
        if arguments is None:
            return None
        self.used.add(macro.name)
        bound = _bind(macro.parameters, arguments)
        body = self._substitute(macro, bound, line, hidden, depth)
        return body + [_Item(Token("line", "\n", line), _NONE)] * newlines

    def _substitute(
        self, macro: Macro, bound: dict[str, list[_Item]], line: int, hidden: frozenset[str], depth: int
    ) -> list[_Item]:
        output: list[_Item] = []
        body = macro.body
        paste_next = False
        for at, token in enumerate(body):
            following = body[at + 1].text if at + 1 < len(body) else ""
            if token.text == "##" and token.kind == "punct":
                paste_next = True
                continue
            if token.text == "#" and following in bound:
                continue
            pieces = self._piece(token, body[at - 1].text if at else "", following, bound, depth)
            self._count(len(pieces), line)
            fresh = [_Item(Token(p.token.kind, p.token.text, line), p.hidden | hidden) for p in pieces]
            if paste_next and output and fresh:
                fresh[0] = self._paste(output.pop(), fresh[0], line)
            output.extend(fresh)
            paste_next = False
        return output

    def _piece(
        self, token: Token, previous: str, following: str, bound: dict[str, list[_Item]], depth: int
    ) -> list[_Item]:
        argument = bound.get(token.text) if token.kind == "name" else None
        if argument is None:
            return [_Item(token, _NONE)]
        if previous == "#":
            return [_Item(Token("text", '""', token.line), _NONE)]
        if previous == "##" or following == "##":
            return [item for item in argument if item.token.kind in _SIGNIFICANT]
        return self._run(list(argument), depth + 1)

    def _paste(self, left: _Item, right: _Item, line: int) -> _Item:
        text = left.token.text + right.token.text
        kind = "name" if re.fullmatch(r"[^\W\d]\w*", text) else left.token.kind
        self.pastes.append(Paste(text, line))
        return _Item(Token(kind, text, line), left.hidden & right.hidden)


def _spaced(tokens: list[Token]) -> list[Token]:
    """With a blank where two words would grow together."""
    output = [Token("space", " ", tokens[0].line)] if tokens else []
    wordy = False
    for token in tokens:
        is_word = token.kind in ("name", "number")
        if wordy and is_word:
            output.append(Token("space", " ", token.line))
        output.append(token)
        wordy = is_word
    return [*output, Token("space", " ", output[-1].line)] if wordy else output


def _take_arguments(pending: list[_Item]) -> tuple[int, list[list[_Item]] | None, int]:
    """Pops `( a, b )` off the input: (tokens looked at, arguments, lines that they spanned).

    No arguments, and nothing popped, where no `(` follows or none closes it.
    """
    at = len(pending) - 1
    while at >= 0 and pending[at].token.kind in ("space", "line"):
        at -= 1
    if at < 0 or pending[at].token.text != "(":
        return 0, None, 0
    arguments: list[list[_Item]] = [[]]
    depth, start = 1, at
    while depth:
        at -= 1
        if at < 0 or start - at > MAX_STEPS:
            return start - at, None, 0
        item = pending[at]
        punct = item.token.text if item.token.kind == "punct" else ""
        depth += (punct == "(") - (punct == ")")
        if punct == "," and depth == 1:
            arguments.append([])
        elif depth:
            arguments[-1].append(item)
    newlines = sum(item.token.kind == "line" for item in pending[at:])
    del pending[at:]
    return start - at, [[i for i in piece if i.token.kind != "line"] for piece in arguments], newlines


def _bind(parameters: tuple[str, ...], arguments: list[list[_Item]]) -> dict[str, list[_Item]]:
    bound = {name: arguments[at] if at < len(arguments) else [] for at, name in enumerate(parameters)}
    if parameters and parameters[-1] == "__VA_ARGS__":
        rest: list[_Item] = []
        for at, argument in enumerate(arguments[len(parameters) - 1 :]):
            comma = _Item(Token("punct", ",", 1), _NONE)
            rest += ([comma] if at else []) + argument
        bound["__VA_ARGS__"] = rest
    return bound
