"""Compiler messages into `Diagnostic` records.

NVRTC and nvcc share a front end: `file(line): error: text`, further lines of the message, the source
line, a caret under the column. The column is taken from the caret only where the shown line is the
candidate's own (nvcc shows its preprocessed form). Messages about other files keep their words and
lose every quotation of the file. Guarantees: a bounded number of bounded records, in time linear in the
log's size, whatever a candidate made the compiler print.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import Literal, cast

from coding_framework.cuda.toolchain.compiler_log import shorten_log
from coding_framework.cuda.toolchain.standins import SOURCE_NAME
from coding_framework.records.compilation import Diagnostic

MAX_DIAGNOSTICS = 50
_MAX_MESSAGE_CHARS = 1200
_MAX_SOURCE_LINE_CHARS = 1200

Severity = Literal["error", "warning", "note"]
_FRONT_END = re.compile(
    r"^(?P<file>\S[^\n]*?)\((?P<line>\d{1,10})\): "
    r"(?P<kind>catastrophic error|internal error|error|warning|remark|note)(?: #[\w-]+)?: (?P<text>.*)$"
)
_AT_END = re.compile(
    r"^At end of source: (?:catastrophic )?(?P<kind>error|warning)(?: #[\w-]+)?: (?P<text>.*)$"
)
_HOST_COMPILER = re.compile(
    r"^(?P<file>[^\s:]+):(?P<line>\d{1,10}):(?:(?P<column>\d{1,10}):)? "
    r"(?P<kind>fatal error|error|warning|note): (?P<text>.*)$"
)
_PTXAS = re.compile(r"^\s*ptxas (?:\S.*, line \d+; )?(?P<kind>error|fatal|warning) *: (?P<text>.*)$")
_FIRST_LINES = (_FRONT_END, _AT_END, _HOST_COMPILER, _PTXAS)
_CARET = re.compile(r"^[\s]*\^\s*$")
_INSTANTIATED = re.compile(r"at line (\d{1,10})\b(?! of)")
_SEVERITY = {"warning": "warning", "remark": "note", "note": "note"}
_SUMMARY = re.compile(r"^(Remark: |\d+ (catastrophic )?errors? detected|Error limit|Compilation terminated)")


def parse_diagnostics(log: str, source: str) -> tuple[Diagnostic, ...]:
    """Every message that concerns the candidate, in order, at most `MAX_DIAGNOSTICS`."""
    lines = source.split("\n")
    seen: set[tuple[str, str, int | None, int | None]] = set()
    found: list[Diagnostic] = []
    for block in _blocks(shorten_log(log)):
        diagnostic = _from_block(block, lines)
        if diagnostic is None:
            continue
        key = (diagnostic.severity, diagnostic.message, diagnostic.line, diagnostic.column)
        if key not in seen:
            seen.add(key)
            found.append(diagnostic)
    errors_first = (
        sorted(found, key=lambda item: item.severity != "error") if len(found) > MAX_DIAGNOSTICS else found
    )
    return tuple(errors_first[:MAX_DIAGNOSTICS])


def _blocks(log: str) -> Iterator[list[str]]:
    """A message's first line with the lines that belong to it."""
    block: list[str] = []
    for line in log.replace("\0", "").splitlines():
        blank = not line.strip()
        starts = not blank and any(pattern.match(line) for pattern in _FIRST_LINES)
        if blank or starts or _SUMMARY.match(line) or line.startswith("ptxas info"):
            if block:
                yield block
            block = [line] if starts else []
        elif block:
            block.append(line)
    if block:
        yield block


def _from_block(block: list[str], lines: list[str]) -> Diagnostic | None:
    if match := _FRONT_END.match(block[0]):
        return _front_end_diagnostic(match, block[1:], lines)
    if match := _AT_END.match(block[0]):
        last = max((number for number, line in enumerate(lines, start=1) if line.strip()), default=1)
        return _placed(_severity(match["kind"]), f"at the end: {match['text']}", last, None, lines)
    if match := _HOST_COMPILER.match(block[0]):
        return _host_diagnostic(match, lines)
    match = _PTXAS.match(block[0])
    assert match is not None
    return Diagnostic(
        severity="warning" if match["kind"] == "warning" else "error", message=_cut(f"ptxas: {match['text']}")
    )


def _front_end_diagnostic(match: re.Match[str], rest: list[str], lines: list[str]) -> Diagnostic | None:
    severity = _severity(match["kind"])
    details, caret = _split_quotation(rest)
    message = _join(match["text"], details)
    if PurePath(match["file"]).name != SOURCE_NAME:
        return _elsewhere(match["file"], severity, message, lines)
    line = int(match["line"])
    column = None if caret is None else _column(caret, lines, line)
    return _placed(severity, message, line, column, lines)


def _split_quotation(rest: list[str]) -> tuple[list[str], tuple[str, str] | None]:
    """The message's further lines, and (quoted line, caret line) where there is a caret."""
    for index, line in enumerate(rest):
        if index and _CARET.match(line):
            return [*rest[: index - 1], *rest[index + 1 :]], (rest[index - 1], line)
    return rest, None


def _column(caret: tuple[str, str], lines: list[str], line: int) -> int | None:
    """The caret counts bytes of the quoted line, which is indented by two."""
    quoted, mark = caret
    original = _line_of(lines, line)
    if original is None or quoted[2:].rstrip() != original.rstrip():
        return None
    offset = mark.index("^") - 2
    return len(original.encode(errors="replace")[:offset].decode(errors="ignore")) + 1


def _elsewhere(file: str, severity: Severity, message: str, lines: list[str]) -> Diagnostic | None:
    """A message about a header: an error is passed on without its text, a warning is not the candidate's."""
    if severity != "error":
        return None
    instantiated = _INSTANTIATED.findall(message)
    line = int(instantiated[-1]) if instantiated else None
    return _placed(severity, f"in {PurePath(file).name}: {message}", line, None, lines)


def _host_diagnostic(match: re.Match[str], lines: list[str]) -> Diagnostic | None:
    severity = _severity(match["kind"])
    if PurePath(match["file"]).name != SOURCE_NAME:
        return _elsewhere(match["file"], severity, match["text"], lines)
    column = int(match["column"] or 0) or None
    return _placed(severity, match["text"], int(match["line"]), column, lines)


def _placed(
    severity: Severity, message: str, line: int | None, column: int | None, lines: list[str]
) -> Diagnostic:
    text = None if line is None else _line_of(lines, line)
    if text is None:  # a #line directive of the candidate's own may point anywhere
        return Diagnostic(severity=severity, message=_cut(message))
    shown = text[:_MAX_SOURCE_LINE_CHARS]
    return Diagnostic(severity=severity, message=_cut(message), line=line, column=column, source_line=shown)


def _line_of(lines: list[str], line: int) -> str | None:
    return lines[line - 1].rstrip("\r") if 0 < line <= len(lines) else None


def _severity(kind: str) -> Severity:
    return cast(Severity, _SEVERITY.get(kind, "error"))


def _join(first: str, details: list[str]) -> str:
    return _cut(" ".join([first.strip(), *(line.strip() for line in details)]))


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_MESSAGE_CHARS else text[:_MAX_MESSAGE_CHARS] + " …"
