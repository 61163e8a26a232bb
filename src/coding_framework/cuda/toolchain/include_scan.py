"""Finds every `#include` that could make a compiler open a file of the host.

NVRTC opens whatever `#include` names, and its messages quote what it read. Absolute paths, paths that
climb and computed names are refused here; quotations of other files are dropped in `diagnostics.py`.

Guarantee: what a compiler takes for a directive is judged here. That cannot rest on deciding exactly
what is a comment, because compilers differ (NVRTC ends a line after a backslash and a blank, GCC joins
it; an apostrophe in a skipped group swallows the `/*` behind it). So each line keeps the *set* of what
it may begin as, code or comment, under each way of joining lines, and a directive counts wherever code
is possible. The price: inside a block comment whose start is in doubt, a forbidden include is refused.
Time is linear in the length of the source.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_JOININGS = (
    re.compile(r"\\\r?\n"),  # NVRTC
    re.compile(r"(?:\\|\?\?/)[ \t\v\f]*\r?\n"),  # GCC, and trigraphs where a flag turns them on
    re.compile(r"(?!)"),  # inside a raw string nothing is joined
)
_BLANK = r"[^!-~\n]*+"
"""Whatever is not a visible ASCII character: which others a compiler skips is its own affair."""
_DIRECTIVE = re.compile(rf"(?:^|\*/){_BLANK}(?:\#|%:|\?\?=){_BLANK}")
_INCLUDE = re.compile(rf"(?:include_next|include|import|embed)(?![A-Za-z0-9_$]){_BLANK}(.{{0,400}})")
_HAS_INCLUDE = re.compile(r"__has_(?:include_next|include|embed)\b")
_ASKS_WHETHER_KNOWN = re.compile(r"(?:\bifn?def|\bdefined\s{0,9}\(?)\s{0,9}$")
_ASKED = re.compile(r"\s{0,9}\(\s{0,9}(.{0,400})")
_LITERAL = re.compile(r'(?:<(?P<angled>[^<>\n]+)>|"(?P<quoted>[^"\n]+)")(?P<rest>.*)')
_DOUBTFUL = re.compile(r"[\"'<]")
_MARK = re.compile(r"//|/\*|[\"'<]")

Line = tuple[int, str]


def bad_includes(source: str) -> list[tuple[int, str]]:
    """(1-based line, complaint) for each, in order."""
    found: dict[int, str] = {}
    for joining in _JOININGS:
        for number, complaint in _bad_in(_logical_lines(source, joining)):
            found.setdefault(number, complaint)
    return sorted(found.items())


def _logical_lines(source: str, joining: re.Pattern[str]) -> list[Line]:
    """Lines as the preprocessor sees them, each with the number of the first it is made of."""
    lines: list[Line] = []
    number = 1
    for piece in joining.sub("\0", source).split("\n"):
        lines.append((number, piece.replace("\0", "")))
        number += 1 + piece.count("\0")
    return lines


def _bad_in(lines: list[Line]) -> Iterator[tuple[int, str]]:
    may_be_code, may_be_comment = True, False
    has_raw_string = False
    for number, line in lines:
        complaint = _line_complaint(line, may_be_code)
        if complaint is not None:
            yield number, complaint
        has_raw_string = has_raw_string or 'R"' in line
        may_be_code, may_be_comment = _after(line, may_be_code, may_be_comment)
        may_be_code = may_be_code or has_raw_string


def _line_complaint(line: str, may_be_code: bool) -> str | None:
    for match in _DIRECTIVE.finditer(line):
        if may_be_code or match[0].startswith("*/"):
            complaint = _directive_complaint(line, match.end())
            if complaint is not None:
                return complaint
    return _has_include_complaint(line) if may_be_code else None


def _directive_complaint(line: str, start: int) -> str | None:
    if line.startswith("/*", start):  # `#/* … */include`, where the comment may span lines
        return "#include: a comment between # and the name of a directive is not allowed"
    include = _INCLUDE.match(line, start)
    return None if include is None else _operand_complaint(include[1])


def _operand_complaint(operand: str) -> str | None:
    literal = _LITERAL.match(operand)
    if literal is None or not _is_blank_or_comment(literal["rest"]):
        return '#include must name a header as <name> or "name"'
    return _path_complaint(literal["angled"] or literal["quoted"])


def _is_blank_or_comment(text: str) -> bool:
    return not text.strip() or text.lstrip().startswith(("//", "/*"))


def _path_complaint(path: str) -> str | None:
    if path.startswith(("/", "~")) or "\\" in path or ".." in path.split("/") or ":" in path:
        return f'#include of "{path}": only plain header names are allowed, no paths out of the search path'
    return None


def _has_include_complaint(line: str) -> str | None:
    """`__has_include` tells which files the host has; asking for headers by name is fine."""
    for match in _HAS_INCLUDE.finditer(line):
        if _ASKS_WHETHER_KNOWN.search(line[max(0, match.start() - 40) : match.start()]):
            continue
        asked = _ASKED.match(line, match.end())
        literal = _LITERAL.match(asked[1]) if asked else None
        if literal is None:
            return '#include: __has_include must be asked for <name> or "name"'
        complaint = _path_complaint(literal["angled"] or literal["quoted"])
        if complaint is not None:
            return complaint
    return None


def _after(line: str, may_be_code: bool, may_be_comment: bool) -> tuple[bool, bool]:
    """What the next line may begin as."""
    code = comment = False
    if may_be_code:
        code, comment = _code_after(line, 0)
    if may_be_comment:
        end = line.find("*/")
        if end < 0:
            return code, True
        code_too, comment_too = _code_after(line, end + 2)
        code, comment = code or code_too, comment or comment_too
    return code, comment


def _code_after(line: str, start: int) -> tuple[bool, bool]:
    """The same for a line that is code from `start` on; quotes make a later `/*` doubtful."""
    while True:
        mark = _MARK.search(line, start)
        if mark is None or mark[0] == "//":
            return True, False
        if _DOUBTFUL.match(mark[0]):
            return True, "/*" in line[mark.start() :]
        end = line.find("*/", mark.end())
        if end < 0:
            return False, True
        start = end + 2
