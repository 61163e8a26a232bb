"""What compute-sanitizer prints, into findings.

    ========= Invalid __global__ write of size 4 bytes
    =========     at oob+0xd0 in k.cu:3
    =========     by thread (0,0,0) in block (8,0,0)
    =========

A finding is a line without indentation and the indented lines below it. Findings of one kind at one
place are counted together: a kernel that is wrong once is wrong in thousands of threads.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from coding_framework.records import Record

SanitizerKind = Literal[
    "out_of_bounds", "misaligned", "uninitialized", "race", "barrier", "leak", "api", "other"
]

_PREFIX = "========="
_SUMMARY = re.compile(r"(?:ERROR|LEAK) SUMMARY: ([\d,]+) (?:errors?|bytes)(?! were not printed)")
_HAZARDS = re.compile(
    r"RACECHECK SUMMARY: [\d,]+ hazards? displayed \(([\d,]+) errors?, ([\d,]+) warnings?\)"
)
_PLACE = re.compile(r"(?:at|Device Frame:)\s*(?P<name>.+?)\+0x[0-9a-f]+(?: in (?P<file>\S+):(?P<line>\d+))?")
_THREAD = re.compile(r"by thread (\([\d,]+\)) in block (\([\d,]+\))")
_ACCESS = re.compile(r"(Write|Read) access at")
_HAZARD_COUNT = re.compile(r"\[([\d,]+) hazards?\]")
_OWN_LINES = ("COMPUTE-SANITIZER", "Target application returned an error")
_OWN_SUFFIX = (".cu", ".cuh")

_KINDS: tuple[tuple[str, SanitizerKind], ...] = (
    (r"is misaligned|[Mm]isaligned", "misaligned"),
    (r"^Invalid __", "out_of_bounds"),
    (r"^Uninitialized", "uninitialized"),
    (r"Race reported|hazard detected", "race"),
    (r"^Barrier error", "barrier"),
    (r"^Leaked", "leak"),
    (r"^Program hit", "api"),
)
_ADVICE: dict[SanitizerKind, str] = {
    "out_of_bounds": "compare the index with the size before the access",
    "misaligned": "a vector access needs an address that its size divides",
    "uninitialized": "write the memory before it is read",
    "race": "put a barrier (__syncthreads, or __syncwarp within a warp) between the two accesses",
    "barrier": "let every thread of the block reach the barrier, outside of divergent code",
    "leak": "free what was allocated",
    "api": "look at the call that failed",
    "other": "see the tool's own words",
}


class SanitizerFinding(Record):
    """One kind of fault at one place."""

    kind: SanitizerKind
    """What went wrong."""
    kernel: str | None
    """In which kernel; None for faults of the host."""
    line: int | None = Field(default=None, ge=1)
    """Line of the candidate's source, where it was compiled with line information."""
    count: int = Field(ge=1)
    """How often it was printed; the tool stops printing after a while, see `num_errors`."""
    words: str
    """What happened, where, and what to do."""


@dataclass(frozen=True)
class _Block:
    """The lines of one finding, without the tool's prefix."""

    head: str
    body: tuple[str, ...]

    @property
    def text(self) -> str:
        return "\n".join((self.head, *self.body))


def parse_findings(output: str) -> tuple[SanitizerFinding, ...]:
    """Every kind of fault at every place, in the order of their first appearance."""
    found: dict[tuple[SanitizerKind, str | None, int | None], SanitizerFinding] = {}
    for block in _blocks(output):
        one = _finding(block)
        key = (one.kind, one.kernel, one.line)
        if key in found:
            one = found[key].model_copy(update={"count": found[key].count + one.count})
        found[key] = one
    return tuple(found.values())


def parse_num_errors(output: str) -> int | None:
    """What the tool's last line counts; None if it never got there."""
    hazards = _HAZARDS.search(output)
    if hazards is not None:
        return _whole(hazards[1]) + _whole(hazards[2])
    summary = _SUMMARY.search(output)
    return _whole(summary[1]) if summary is not None else None


def _blocks(output: str) -> Iterator[_Block]:
    head, body = "", []
    for line in output.splitlines():
        if not line.startswith(_PREFIX):
            continue
        text = line.removeprefix(_PREFIX)
        if text.startswith("     ") and head:
            body.append(text.strip())
            continue
        if head:
            yield _Block(head, tuple(body))
        head, body = _head(text.strip()), []
    if head:
        yield _Block(head, tuple(body))


def _head(text: str) -> str:
    """The first line of a finding; nothing for the tool's own lines."""
    own = not text or text.startswith(_OWN_LINES) or "SUMMARY:" in text
    return "" if own else re.sub(r"^(?:Error|Warning): ", "", text)


def _finding(block: _Block) -> SanitizerFinding:
    kinds = [kind for pattern, kind in _KINDS if re.search(pattern, block.text)]
    kind: SanitizerKind = kinds[0] if kinds else "other"
    places = list(_PLACE.finditer(block.text))
    kernel = _bare(places[-1]["name"]) if places else None
    lines = [int(p["line"]) for p in places if p["file"] and p["file"].endswith(_OWN_SUFFIX)]
    hazards = _HAZARD_COUNT.search(block.text)
    return SanitizerFinding(
        kind=kind,
        kernel=kernel,
        line=lines[0] if lines else None,
        count=_whole(hazards[1]) if hazards else 1,
        words=_words(kind, block, kernel, lines),
    )


def _words(kind: SanitizerKind, block: _Block, kernel: str | None, lines: list[int]) -> str:
    accesses = _ACCESS.findall(block.text)
    what = f"Race between a {' and a '.join(accesses).lower()}" if accesses else block.head.rstrip(".")
    where = f" in `{kernel}`" if kernel else ""
    if lines:
        where += f" at line {' and line '.join(str(line) for line in dict.fromkeys(lines))}"
    thread = _THREAD.search(block.text)
    who = f", first by thread {thread[1]} of block {thread[2]}" if thread else ""
    return f"{what}{where}{who}: {_ADVICE[kind]}."


def _bare(name: str) -> str:
    """`kernel(float *, int)` as `kernel`."""
    return name.split("(")[0].strip()


def _whole(text: str) -> int:
    return int(text.replace(",", ""))
