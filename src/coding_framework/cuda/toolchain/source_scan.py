"""What can be told from a source's text before any compiler sees it.

Guards against reading the host's files: NVRTC opens whatever `#include` names, and its messages
quote what it read. Absolute paths, paths that climb and computed names are refused here; quoting of
other files is dropped in `diagnostics.py`. The full safety analysis works on a syntax tree elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from coding_framework.records.compilation import Diagnostic

_TOKEN = re.compile(
    r"""
      (?P<raw>   R"(?P<mark>[^\s()\\]{0,16})\(.*?\)(?P=mark)" )
    | (?P<text>  "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*' )
    | (?P<number> \.?\d(?:'?[\w.])* )
    | (?P<comment> //[^\n]* | /\*.*?(?:\*/|\Z) )
    """,
    re.VERBOSE | re.DOTALL,
)
_SPLICE = re.compile(r"\\[ \t]*\r?\n")
_INCLUDE = re.compile(
    r"^[ \t]*(?:\#|%:|\?\?=)[ \t]*(?:include_next|include|import|embed)\b[ \t]*(.*)$", re.MULTILINE
)
_LITERAL = re.compile(r'<(?P<angled>[^<>\n]+)>\s*$|"(?P<quoted>[^"\n]+)"\s*$')
_GLOBAL = re.compile(r"\b__global__\b")


def without_comments(source: str) -> str:
    """The source with comments blanked and every line in its place."""
    return _TOKEN.sub(_blank_comment, source)


def _blank_comment(match: re.Match[str]) -> str:
    if match["comment"] is None:
        return match[0]
    return re.sub(r"[^\n]", " ", match[0])


def find_source_faults(source: str) -> tuple[Diagnostic, ...]:
    """Errors that need no compiler: forbidden includes, or no kernel at all."""
    if "\0" in source or any("\ud800" <= character <= "\udfff" for character in source):
        return (Diagnostic(severity="error", message="the source contains characters that are no text"),)
    faults = tuple(
        Diagnostic(severity="error", message=complaint, line=line, source_line=line_of(source, line))
        for line, complaint in _bad_includes(source)
    )
    if not faults and not _GLOBAL.search(without_comments(source)):
        return (
            Diagnostic(severity="error", message="the source has no __global__ function: no kernel to run"),
        )
    return faults


def _bad_includes(source: str) -> list[tuple[int, str]]:
    """(line, complaint) for each; continued lines are joined first, as the preprocessor does it."""
    text = without_comments(_SPLICE.sub("", source))
    joints = [match.start() - removed for match, removed in _splices(source)]
    found = []
    for match in _INCLUDE.finditer(text):
        complaint = _complaint(match[1])
        if complaint is not None:
            joined_before = sum(joint <= match.start() for joint in joints)
            found.append((1 + text.count("\n", 0, match.start()) + joined_before, complaint))
    return found


def _splices(source: str) -> Iterator[tuple[re.Match[str], int]]:
    """Each continuation with the number of characters removed before it."""
    removed = 0
    for match in _SPLICE.finditer(source):
        yield match, removed
        removed += len(match[0])


def _complaint(operand: str) -> str | None:
    literal = _LITERAL.match(operand)
    if literal is None:
        return '#include must name a header as <name> or "name"'
    path = literal["angled"] or literal["quoted"]
    if path.startswith(("/", "~")) or "\\" in path or ".." in path.split("/") or ":" in path:
        return f'#include of "{path}": only plain header names are allowed, no paths out of the search path'
    return None


def definition_order(source: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """The names in the order in which the source first mentions them outside comments."""
    text = without_comments(source)
    return tuple(sorted(names, key=lambda name: (_first_mention(text, name), name)))


def kernel_line(source: str, name: str) -> int | None:
    """1-based line of the first mention of `name` outside comments."""
    text = without_comments(source)
    position = _first_mention(text, name)
    return None if position == len(text) else 1 + text.count("\n", 0, position)


def _first_mention(text: str, name: str) -> int:
    match = re.search(rf"\b{re.escape(name)}\b", text)
    return len(text) if match is None else match.start()


def line_of(source: str, line: int) -> str | None:
    """The text of a 1-based line, or None past the end."""
    lines = source.split("\n")
    return lines[line - 1].rstrip("\r") if 0 < line <= len(lines) else None
