"""A compiler's log at a size that can be handled.

Thirty kilobytes of `/* ` make NVRTC write 450 megabytes: every nested comment is a warning that quotes
the whole line. The head says what is wrong, the tail holds ptxas' report, and errors out of the
middle are kept, because a rejected source without a single error would read as a fault of ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from heapq import merge
from itertools import islice

MAX_LOG_CHARS = 256 * 1024
_HEAD_CHARS = 160 * 1024
_TAIL_CHARS = 64 * 1024
_MAX_LINE_CHARS = 2_000
_MAX_ERRORS = 10
_MAX_GUESSES = 1_000
_WORDS = (b"error", b"fatal")
_ERROR = re.compile(rb"(?:error|fatal)\b[^\n:]{0,40}:")


def shorten_log(log: str | bytes) -> str:
    """The log itself where it is short; else head, some errors of the middle, and tail."""
    raw = log if isinstance(log, bytes) else log.encode(errors="replace")
    if len(raw) <= MAX_LOG_CHARS:
        return raw.decode(errors="replace")
    middle_end = len(raw) - _TAIL_CHARS
    middle = dict.fromkeys(_errors(raw, _HEAD_CHARS, middle_end))
    parts = [raw[:_HEAD_CHARS], *islice(middle, _MAX_ERRORS), raw[middle_end:]]
    return b"\n\n".join(parts).decode(errors="replace")


def _errors(log: bytes, start: int, end: int) -> Iterator[bytes]:
    """The lines of `log[start:end]` that state an error, as far as they are read."""
    for at in _places(log, start, end):
        if at < start:
            continue  # in a line that was told
        line_start = log.rfind(b"\n", max(0, at - _MAX_LINE_CHARS), at) + 1
        line_end = log.find(b"\n", at, min(end, at + _MAX_LINE_CHARS))
        start = line_end = min(end, at + _MAX_LINE_CHARS) if line_end < 0 else line_end
        yield log[max(line_start, at - _MAX_LINE_CHARS) : line_end]


def _places(log: bytes, start: int, end: int) -> Iterator[int]:
    """Where errors are stated. To look for bytes is ten times as fast as for a pattern, if they are rare."""
    candidates = merge(*(_occurrences(word, log, start, end) for word in _WORDS))
    for at in islice(candidates, _MAX_GUESSES):
        if _ERROR.match(log, at, end):
            yield at
    following = next(candidates, end)
    yield from (match.start() for match in _ERROR.finditer(log, following, end))


def _occurrences(word: bytes, log: bytes, start: int, end: int) -> Iterator[int]:
    while (start := log.find(word, start, end) + 1) > 0:
        yield start - 1
