"""A CUDA source as tokens, the way the preprocessor reads it: lines joined, comments blank.

Guarantees: never raises, linear in the length, and a token's line is where it stands in the source even
after line continuations and digraphs are undone. Raw strings are kept as they are.
It does not judge: what is odd about the spelling is listed for the analyser to judge.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import NamedTuple


class Token(NamedTuple):
    """One piece of the source. Kinds: name, number, text, punct, space, line (a newline)."""

    kind: str
    text: str
    line: int


class Oddity(NamedTuple):
    """A spelling that honest sources do not use: `trigraph`, `digraph`, `escaped-name`, ..."""

    kind: str
    line: int


_RAW = r'\b(?:u8|[uUL])?R"(?P<mark>[^\s()\\"]{0,16})\(.*?(?:\)(?P=mark)"|\Z)'
"""One that never closes runs to the end: a search that fails there would be repeated from every mark."""
_SPLICE = re.compile(rf"(?P<raw>{_RAW})|(?P<splice>\\\r?\n)|(?P<blank>\\[ \t\f\v]++(?=\r?\n))|\n", re.DOTALL)
_TOKEN = re.compile(
    rf"""
      (?P<text>    {_RAW} | "(?:\\.|[^"\\\n])*+"? | '(?:\\.|[^'\\\n])*+'? )
    | (?P<comment> //[^\n]* | /\*.*?(?:\*/|\Z) )
    | (?P<number>  \.?\d(?:[eEpP][+-]|'?[\w.])* )
    | (?P<name>    [^\W\d]\w* )
    | (?P<line>    \n )
    | (?P<space>   [^\S\n]+ )
    | (?P<plain>   [-+*=!&|^~?;{{}}\[\].@$]+ )
    | (?P<punct>   %:%: | \#\# | %: | <% | %> | <:(?!:) | :> | << | >> | . )
    """,
    re.VERBOSE | re.DOTALL,
)
MAX_TRIGRAPHS = 20
_DIGRAPHS = {"%:%:": "##", "%:": "#", "<%": "{", "%>": "}", "<:": "[", ":>": "]"}
_TRIGRAPH = re.compile(r"\?\?[=/'()!<>-]")
_INVISIBLE = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\u00ad\u061c\u180e]")


def tokenize(source: str) -> tuple[list[Token], list[Oddity]]:
    """The tokens with their lines, and what was odd about their spelling."""
    oddities: list[Oddity] = []
    joined = _join_lines(source, oddities)
    tokens: list[Token] = []
    append = tokens.append
    line = 1
    for match in _TOKEN.finditer(joined):
        kind, piece = match.lastgroup, match[0]
        if kind == "line":
            append(Token("line", piece, line))
            line += 1
        elif kind == "punct":
            append(_punct(piece, line, oddities))
        elif kind in ("comment", "text", "mark"):
            num_lines = piece.count("\n")
            if kind == "comment":
                append(Token("space", " ", line))
                tokens += [Token("line", "\n", line + at) for at in range(num_lines)]
            else:
                append(Token("text", piece, line))
            line += num_lines
        else:
            append(Token("punct" if kind == "plain" else str(kind), piece, line))
    return tokens, oddities


def _join_lines(source: str, oddities: list[Oddity]) -> str:
    """Undo line continuations; the newlines taken out follow at the end of the joined line."""
    if "\\" not in source:
        return source
    pieces, owed, last, line = [], 0, 0, 1
    for match in _SPLICE.finditer(source):
        pieces.append(source[last : match.start()])
        last = match.end()
        if match["splice"]:
            owed += 1
            before, after = source[match.start() - 1 : match.start()], source[last : last + 1]
            if _is_word(before) and (_is_word(after) or after == '"'):
                oddities.append(Oddity("split-name", line))
        elif match["blank"]:  # GCC joins such lines, NVRTC does not: each can hide code from the other
            pieces.append(match[0])
            if len(oddities) < MAX_TRIGRAPHS:
                oddities.append(Oddity("blank-continuation", line))
        elif match["raw"]:
            pieces.append(match[0])
            if "\\\n" in match[0] or "\\\r\n" in match[0]:
                oddities.append(Oddity("raw-string", line))
        else:
            pieces.append("\n" * (1 + owed))
            owed = 0
        line += match[0].count("\n")
    pieces.append(source[last:] + "\n" * owed)
    return "".join(pieces)


def _is_word(character: str) -> bool:
    return character == "_" or character.isalnum()


def _punct(piece: str, line: int, oddities: list[Oddity]) -> Token:
    if piece in _DIGRAPHS:
        oddities.append(Oddity("digraph", line))
        piece = _DIGRAPHS[piece]
    elif piece == "\\":
        oddities.append(Oddity("escaped-name", line))
    elif piece > "~":
        if _INVISIBLE.match(piece):
            oddities.append(Oddity("invisible-character", line))
            return Token("space", " ", line)
        if "\ud800" <= piece <= "\udfff":
            oddities.append(Oddity("no-text", line))
    elif piece == "\0":
        oddities.append(Oddity("no-text", line))
    return Token("punct", piece, line)


def trigraph_lines(tokens: list[Token]) -> list[int]:
    """Lines with a trigraph outside comments; within a string one can end the string."""
    text = "".join(token.text for token in tokens)
    if "??" not in text:
        return []
    first = islice(_TRIGRAPH.finditer(text), MAX_TRIGRAPHS)
    return [text.count("\n", 0, match.start()) + 1 for match in first]
