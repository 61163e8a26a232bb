"""An answer as blocks of code and the prose around them.

Guarantees: never raises, linear in the text's length, and a block's code is the answer's own text; only
what a transport put there is undone (line ends of Windows, HTML escapes). Fences may be missing, nested,
unclosed, longer than three marks, or stand at the end of a line.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import NamedTuple

_THOUGHT = re.compile(r"<(think|thinking|thought|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_THOUGHT_END = re.compile(r"</(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
_ESCAPED = re.compile(r"&(?:lt|gt|quot|amp|#39|#x27);")
_OPENING = re.compile(r"(?<![`~])(?P<marks>`{3,}+|~{3,}+)[ \t]*+(?P<language>[\w+#.-]*+)(?P<rest>[^`]*+)$")
_MAX_FENCE_LINE = 400
"""Longer lines open no block; it also keeps the search short."""
_PLAN = re.compile(r"[\s>*`-]*+(?://++)?\s*+(?P<kind>launch|scratch)\s*+:\s*+(?P<rest>[^`]*+)", re.IGNORECASE)
_CODE_START = re.compile(
    r"\s*(?:#\s*(?:include|define|pragma)|extern\b|__\w+|template\s*<|using\s|static\b|constexpr\b|struct\s"
    r"|inline\b|const\b|//\s*(?:launch|scratch)\s*:)"
)
_PYTHON_START = re.compile(r"(?:import|from|class|def|@)\b|@\w")
_KERNEL = re.compile(r"__global__\b[^;{}(]{0,300}+\([^;{}]{0,1500}+\{")


class Block(NamedTuple):
    """A piece of code in an answer."""

    code: str
    language: str
    """What the fence says; empty where it says nothing."""
    closed: bool
    """Whether its fence was closed."""


def clean_text(text: str) -> str:
    """Without thoughts, and as it was before it was sent."""
    text = re.sub(r"\r\n?", "\n", text).removeprefix("\ufeff")
    text = _THOUGHT.sub("", text)
    end = max((match.end() for match in _THOUGHT_END.finditer(text)), default=0)
    text = text[end:]  # the prompt had opened the thoughts
    return html.unescape(text) if _ESCAPED.search(text) else text


def split_answer(text: str) -> tuple[list[Block], str]:
    """The fenced blocks in order, and what stands outside of them."""
    reader = _Reader()
    for line in text.split("\n"):
        reader.read(line)
    reader.close(closed=False)
    return reader.blocks, "\n".join(reader.prose)


class _Reader:
    """One pass over the lines; a fence with a language always opens, however deep it stands."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.prose: list[str] = []
        self._code: list[str] | None = None
        self._language = ""

    def read(self, line: str) -> None:
        opening = _OPENING.search(line) if len(line) <= _MAX_FENCE_LINE else None
        if self._code is None:
            if opening is None:
                self.prose.append(line)
                return
            self.prose.append(line[: opening.start()])
            self._open(opening)
        elif opening is not None and opening["language"] and not line[: opening.start()].strip():
            self.close(closed=False)
            self._open(opening)
        elif (before := _before_closing(line)) is not None:
            if before.strip():
                self._code.append(before)
            self.close(closed=True)
        else:
            self._code.append(line)

    def _open(self, fence: re.Match[str]) -> None:
        rest = fence["rest"].strip()
        self._code = [rest] if rest.startswith(("//", "#", "extern", "__")) else []
        self._language = fence["language"].lower()

    def close(self, *, closed: bool) -> None:
        code = "\n".join(self._code or ())
        if code.strip():
            self.blocks.append(Block(code, self._language, closed))
        self._code = None


def _before_closing(line: str) -> str | None:
    """The code before a fence at the end of the line; None where there is no such fence."""
    stripped = line.rstrip()
    mark = stripped[-1:]
    return stripped.rstrip(mark) if mark and mark in "`~" and stripped.endswith(3 * mark) else None


def unfenced_code(prose: str, contract_mark: str) -> list[Block]:
    """Code that stands in the answer without a fence, as one block; none where it is only spoken of."""
    is_python = contract_mark.startswith("class")
    if is_python:
        if not re.search(rf"^{contract_mark}\b", prose, re.MULTILINE):
            return []
    elif not _KERNEL.search(prose):
        return []
    lines = prose.split("\n")
    start = (_PYTHON_START if is_python else _CODE_START).match
    first = next((number for number, line in enumerate(lines) if start(line)), 0)
    return [Block("\n".join(lines[first:]), "", closed=False)]


def plan_text(source: str, blocks: Sequence[Block], prose: str) -> str:
    """Plan lines from elsewhere in the answer, where the kernel's block has none of its own."""
    if _plan_lines(source, bare=False):
        return ""
    others = [block.code for block in blocks if "__global__" not in block.code]
    for text in (*reversed(others), prose):
        found = _plan_lines(text, bare=True)
        if any(line.startswith("// launch") for line in found):
            return "\n".join(found) + "\n"
    return ""


def _plan_lines(text: str, *, bare: bool) -> list[str]:
    """`// launch:` and `// scratch:` lines; with `bare` also those that lost their slashes."""
    found = []
    for line in text.split("\n"):
        match = _PLAN.match(line)
        if match is None or not (bare or "//" in line[: match.start("kind")]):
            continue
        kind, rest = match["kind"].lower(), match["rest"].strip()
        if "//" in line[: match.start("kind")] or _looks_like_a_plan(kind, rest):
            found.append(f"// {kind}: {rest}")
    return found


def _looks_like_a_plan(kind: str, rest: str) -> bool:
    """Whether a line without slashes is more than a word of the prose."""
    return ("grid" in rest and "block" in rest) if kind == "launch" else "[" in rest
