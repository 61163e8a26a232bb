"""PTX text into statements: comments gone, `.loc` lines kept, braces as their own statements."""

from __future__ import annotations

import re
from collections.abc import Iterator

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
_LINE_DIRECTIVE = re.compile(r"\.(loc|file|version|target|address_size)\b[^\n]*")
_LABEL = re.compile(r"([$%\w]+)\s*:(?!:)")
_SPACE = re.compile(r"\s+")


def strip_comments(text: str) -> str:
    """Remove comments; string literals in PTX hold no slashes that matter here."""
    return _COMMENT.sub("", text)


def statements(body: str) -> Iterator[str]:
    """Yield `{`, `}`, `.loc …`, `label:` and `instruction operands` in order."""
    position, end = 0, len(body)
    while position < end:
        if space := _SPACE.match(body, position):
            position = space.end()
            continue
        if body[position] in "{};":
            if body[position] != ";":
                yield body[position]
            position += 1
        elif match := _LINE_DIRECTIVE.match(body, position):
            yield match[0]
            position = match.end()
        elif match := _LABEL.match(body, position):
            yield match[1] + ":"
            position = match.end()
        else:
            stop = body.find(";", position)
            stop = end if stop < 0 else stop
            yield _SPACE.sub(" ", body[position:stop]).strip()
            position = stop + 1


def matching_brace(text: str, opening: int) -> int:
    """Position of the brace that closes the one at `opening`."""
    depth = 0
    for position in range(opening, len(text)):
        if text[position] == "{":
            depth += 1
        elif text[position] == "}":
            depth -= 1
            if depth == 0:
                return position
    raise ValueError("unbalanced braces")
