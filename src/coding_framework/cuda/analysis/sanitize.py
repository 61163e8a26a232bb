"""Takes out of a source what can go without changing what its kernels compute, and says what it took.

Line numbers stay: what is removed leaves an empty line. It does not make a hostile source safe; it helps
an honest one that carries host habits (`#include <iostream>`, a `main`, invisible characters from a
chat window) through a compiler that has no host.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pydantic import Field

from coding_framework.cuda.analysis.header_rules import HOST_FOLDERS, HOST_HEADERS
from coding_framework.cuda.analysis.syntax import functions, parse
from coding_framework.records import Record

_INVISIBLE = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\u00ad\u061c\u180e]")
_SPLICED_WORD = re.compile(r"(?<=\w)\\[ \t]*\r?\n(?=\w)")
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*[<\"]([^>\"\n]+)[>\"][^\n]*$", re.MULTILINE)
_PRAGMA = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+(?:comment|message|region|endregion)\b[^\n]*$", re.MULTILINE)
_LINE = re.compile(r"^[ \t]*#[ \t]*line\b[^\n]*$", re.MULTILINE)
_NO_USE = (
    frozenset({"iostream", "fstream", "sstream", "iomanip", "chrono", "ostream", "istream"}) | HOST_HEADERS
)
_TRIGRAPHS = {"=": "#", "/": "\\", "'": "^", "(": "[", ")": "]", "!": "|", "<": "{", ">": "}", "-": "~"}
_TRIGRAPH = re.compile(r"\?\?([=/'()!<>-])")


class SourceChange(Record):
    """One thing that was taken out or replaced."""

    line: int = Field(ge=1)
    """Where, 1-based."""
    words: str
    """What was done, e.g. `removed #include <iostream>`."""


class SanitizedSource(Record):
    """The cleaned source and what was changed in it."""

    source: str
    """Has as many lines as the original."""
    changes: tuple[SourceChange, ...]
    """In the order of the lines."""


def sanitize(source: str) -> SanitizedSource:
    """Every harmless removal, in turn; a clean source comes back as it was."""
    changes: list[SourceChange] = []
    text = _replace(source, _INVISIBLE, lambda _m: ("", "removed an invisible character"), changes)
    text = _replace(text, _TRIGRAPH, lambda m: (_TRIGRAPHS[m[1]], f"replaced the trigraph {m[0]}"), changes)
    text = _join_splitwords(text, changes)
    text = _replace(text, _INCLUDE, _without_include, changes)
    text = _replace(text, _PRAGMA, lambda m: ("", f"removed {m[0].strip()}"), changes)
    text = _replace(text, _LINE, lambda m: ("", f"removed {m[0].strip()}"), changes)
    text = _without_main(text, changes)
    return SanitizedSource(source=text, changes=tuple(sorted(changes, key=lambda change: change.line)))


def _without_include(match: re.Match[str]) -> tuple[str, str] | None:
    if match[1] in _NO_USE or match[1].startswith(HOST_FOLDERS):
        return "", f"removed {match[0].strip()}"
    return None


def _replace(text: str, pattern: re.Pattern[str], choose: object, changes: list[SourceChange]) -> str:
    """Like `re.sub`, noting each change; `choose` gives (replacement, words), or None to keep."""
    assert callable(choose)
    pieces, last, line = [], 0, 1
    for match in pattern.finditer(text):
        line += text.count("\n", last, match.start())
        pieces.append(text[last : match.start()])
        chosen = choose(match)
        pieces.append(match[0] if chosen is None else chosen[0])
        if chosen is not None:
            changes.append(SourceChange(line=line, words=chosen[1]))
        last = match.end()
        line += match[0].count("\n")
    return "".join([*pieces, text[last:]])


def _join_splitwords(text: str, changes: list[SourceChange]) -> str:
    """A word split over lines becomes whole; the newline moves to the end of the joined line."""
    lines = text.split("\n")
    for match in reversed(list(_SPLICED_WORD.finditer(text))):
        at = text.count("\n", 0, match.start())
        changes.append(SourceChange(line=at + 1, words="joined a word split over two lines"))
        lines[at] = re.sub(r"\\[ \t]*\r?$", "", lines[at]) + lines[at + 1]
        lines[at + 1] = ""
    return "\n".join(lines)


def _without_main(text: str, changes: list[SourceChange]) -> str:
    """A `main` is never called here, and its host code does not compile without a host."""
    data = text.encode("utf-8", "replace")
    for start, end, line in reversed(list(_mains(text))):
        newlines = b"\n" * data.count(b"\n", start, end)
        data = data[:start] + newlines + data[end:]
        changes.append(SourceChange(line=line, words="removed the function main"))
    return data.decode("utf-8", "replace") if changes and changes[-1].words.endswith("main") else text


def _mains(text: str) -> Iterator[tuple[int, int, int]]:
    if re.search(r"\bmain\b", text) is None:
        return
    for function in functions(parse(text)):
        if function.name == "main" and not function.is_device:
            yield function.node.start_byte, function.node.end_byte, function.line
