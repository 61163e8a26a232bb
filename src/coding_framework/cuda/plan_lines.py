"""Finds the lines of a source that state its launch plan, and refuses those that no honest plan needs.

A sentence that begins with "Launch:" and has no field (`grid=`, `block=`, `shared=`, `args=`) is no line of
the plan where another line has one; a name alone, or with `<<<...>>>`, is no sentence. A remark may follow a
line's fields: outside of parentheses, `//` begins one where nothing stands behind it or two words side by
side, which is no arithmetic; elsewhere it divides.

Guarantees: time linear in the source's length; what it returns is printable ASCII of a bounded length
and a bounded number, so that whatever reads a line further may take its time over it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

MAX_LAUNCHES = 64
MAX_SCRATCH_BUFFERS = 64
MAX_LINE_CHARS = 2_000
FIELD = re.compile(r"(?<!\w)(grid|block|shared|args)\s*+=", re.IGNORECASE)

_LINE_END = re.compile(r"\r\n?|\n")
_DIRECTIVE = re.compile(r"\s*+//++\s*+(launch|scratch)\s*+:", re.IGNORECASE)
_UNMARKED = re.compile(r"[\s/*]*+launch\s*+:", re.IGNORECASE)
_ODD = re.compile(r"[^\t -~]")
_MARK = re.compile(rf"[()]|//++|{FIELD.pattern}", re.IGNORECASE)
_SCRATCH_REMARK = re.compile(r"\]\s*+(?=//)")
_TYPE = re.compile(r"\bsizeof\s*+\([\w\s]*+\)")
_SIDE_BY_SIDE = re.compile(r"\w\s++\w")
_LIKE_EQUALS = re.compile("[=\u207c\u208c\ufe66\uff1d]")
_SHOWN_CHARS = 120


class ContractViolation(Exception):
    """The candidate breaks the contract; the judge turns this into a verdict."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True)
class PlanLine:
    """One `// launch:` or `// scratch:` line."""

    kind: Literal["launch", "scratch"]
    text: str
    """What follows the colon, without a remark."""
    number: int
    """1-based line of the source."""
    whole: str
    """The line as it stands there, without a remark."""


def plan_lines(source: str) -> list[PlanLine]:
    """All of them in order; raises `ContractViolation`."""
    found: list[PlanLine] = []
    for number, line in enumerate(_LINE_END.split(source), start=1):
        match = _DIRECTIVE.match(line)
        if match is not None:
            kind: Literal["launch", "scratch"] = "launch" if match[1].lower() == "launch" else "scratch"
            text = line[match.end() :]
            kept = text[: _launch_end(text) if kind == "launch" else _scratch_end(text)]
            found.append(PlanLine(kind, kept.strip(), number, line[: match.end()] + kept))
    found = _without_prose(found)
    for item in found:
        _check(item.whole, item.number)
    _check_count(found, "launch", "launches", MAX_LAUNCHES)
    _check_count(found, "scratch", "scratch buffers", MAX_SCRATCH_BUFFERS)
    return found


def unmarked_line(source: str) -> int | None:
    """1-based line of the first launch that stands in a `/* */` comment, or in none."""
    for number, line in enumerate(_LINE_END.split(source), start=1):
        match = _UNMARKED.match(line)
        if match is not None and FIELD.search(line, match.end()):
            return number
    return None


def _scratch_end(text: str) -> int:
    remark = _SCRATCH_REMARK.search(text)
    return len(text) if remark is None else remark.end()


def _launch_end(text: str) -> int:
    """Where a remark begins behind the fields; the text's length where there is none."""
    depth, slashes = 0, None
    for mark in _MARK.finditer(text):
        if mark[0] in "()":
            depth += 1 if mark[0] == "(" else -1
        elif depth == 0:
            if slashes is not None and _is_remark(text[slashes.end() : mark.start()]):
                return slashes.start()
            slashes = mark if mark[0].startswith("/") else None
    if slashes is not None and _is_remark(text[slashes.end() :]):
        return slashes.start()
    return len(text)


def _is_remark(text: str) -> bool:
    plain = _TYPE.sub("1", text).strip(" \t,;")
    return not plain or _SIDE_BY_SIDE.search(plain) is not None


def _without_prose(lines: list[PlanLine]) -> list[PlanLine]:
    launches = [line for line in lines if line.kind == "launch"]
    if not any(FIELD.search(line.text) for line in launches):
        return lines
    return [line for line in lines if line.kind != "launch" or not _is_prose(line.text)]


def _is_prose(text: str) -> bool:
    """Words without a field; what may be one in other letters is kept, so that the complaint names them."""
    if FIELD.search(text) or (_ODD.search(text) and _LIKE_EQUALS.search(text)):
        return False
    return _SIDE_BY_SIDE.search(text) is not None


def _check(line: str, number: int) -> None:
    if len(line) > MAX_LINE_CHARS:
        raise ContractViolation(
            f"line {number}: the line of the launch plan has {len(line):,} characters; at most "
            f"{MAX_LINE_CHARS:,} are allowed",
            number,
        )
    odd = _ODD.search(line)
    if odd is not None:
        raise ContractViolation(
            f"line {number}: the launch plan has the character U+{ord(odd[0]):04X} in column "
            f"{odd.start() + 1}; only plain ASCII is allowed there: {line.strip()[:_SHOWN_CHARS]!a}",
            number,
        )


def _check_count(lines: list[PlanLine], kind: str, words: str, limit: int) -> None:
    count = sum(line.kind == kind for line in lines)
    if count > limit:
        raise ContractViolation(f"the plan has {count} {words}; at most {limit} are allowed")
