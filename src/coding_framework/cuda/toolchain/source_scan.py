"""What can be told from a source's text before any compiler sees it.

Guarantees: time linear in the length of the source, whatever it holds, and no exception. Forbidden
includes are found in `include_scan.py`, which does not trust the view of comments taken here: this one
serves names and places. The full safety analysis works on a syntax tree elsewhere.
"""

from __future__ import annotations

import re

from coding_framework.cuda.toolchain.include_scan import bad_includes
from coding_framework.records.compilation import Diagnostic

# Every alternative that may lack its end runs to the end of the line or of the text instead of failing:
# a search that fails after reading everything would be tried again from the next character.
_TOKEN = re.compile(
    r"""
      (?P<raw>     (?:u8|[uUL])?R"(?P<mark>[^\s()\\"]{0,16})\(.*?(?:\)(?P=mark)"|\Z) )
    | (?P<word>    [^\W\d]\w*+ )
    | (?P<number>  \.?\d(?:'?[\w.])*+ )
    | (?P<text>    "(?:\\(?:\r\n|.)|[^"\\\n])*+"? | '(?:\\(?:\r\n|.)|[^'\\\n])*+'? )
    | (?P<comment> //(?:\\(?:\r\n|.)|[^\\\n])*+ | /\*.*?(?:\*/|\Z) )
    """,
    re.VERBOSE | re.DOTALL,
)
_TELLING_NAME = re.compile(
    r"\b(?:__CUDACC_RTC\w*|__NVCC__|__VERSION__|__(?:GNUC|linux|unix|x86_64|amd64|aarch64|GLIBC)\w*|__ELF__"
    r"|__SIZEOF_INT128__|_GNU_SOURCE|_GLIBCXX\w*|__has_include(?:_next)?)\b"
)
"""What answers otherwise under NVRTC than under nvcc."""
_WORD = re.compile(r"\w++")
_NO_NEWLINE = re.compile(r"[^\n]")
_GLOBAL = re.compile(r"\b__global__\b")
_MAX_FAULTS = 50
_MAX_SHOWN_CHARS = 1200


def without_comments(source: str) -> str:
    """The source with comments blanked and every line in its place."""
    return _TOKEN.sub(_blank_comment, source)


def _blank_comment(match: re.Match[str]) -> str:
    if match["comment"] is None:
        return match[0]
    return _NO_NEWLINE.sub(" ", match[0])


def telling_name(source: str) -> str | None:
    """A macro in the text by which code can be another one for each compiler."""
    found = _TELLING_NAME.search(without_comments(source))
    return None if found is None else found[0]


def find_source_faults(source: str) -> tuple[Diagnostic, ...]:
    """Errors that need no compiler: forbidden includes, or no kernel at all."""
    if "\0" in source or not _is_text(source):
        return (Diagnostic(severity="error", message="the source contains characters that are no text"),)
    faults = tuple(
        Diagnostic(severity="error", message=complaint, line=line, source_line=_shown(source, line))
        for line, complaint in bad_includes(source)[:_MAX_FAULTS]
    )
    if not faults and not _GLOBAL.search(without_comments(source)):
        return (
            Diagnostic(severity="error", message="the source has no __global__ function: no kernel to run"),
        )
    return faults


def _shown(source: str, line: int) -> str | None:
    text = line_of(source, line)
    return None if text is None else text[:_MAX_SHOWN_CHARS]


def _is_text(source: str) -> bool:
    """Half a surrogate pair is a character to Python, and none to any compiler."""
    try:
        source.encode()
    except UnicodeEncodeError:
        return False
    return True


def definition_order(source: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """The names in the order in which the source first mentions them outside comments."""
    text = without_comments(source)
    places = _first_mentions(text)
    return tuple(sorted(names, key=lambda name: (places.get(name, len(text)), name)))


def kernel_line(source: str, name: str) -> int | None:
    """1-based line of the first mention of `name` outside comments."""
    text = without_comments(source)
    position = _first_mentions(text).get(name)
    return None if position is None else 1 + text.count("\n", 0, position)


def _first_mentions(text: str) -> dict[str, int]:
    """Where each word stands first: one pass, however many names are asked for."""
    places: dict[str, int] = {}
    for match in _WORD.finditer(text):
        places.setdefault(match[0], match.start())
    return places


def line_of(source: str, line: int) -> str | None:
    """The text of a 1-based line, or None past the end."""
    lines = source.split("\n")
    return lines[line - 1].rstrip("\r") if 0 < line <= len(lines) else None
