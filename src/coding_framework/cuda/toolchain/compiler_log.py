"""A compiler's log at a size that can be handled.

Six kilobytes of `/* ` make NVRTC write twenty megabytes: every nested comment is a warning that quotes
the whole line. The head says what is wrong, the tail holds ptxas' report, and errors out of the
middle are kept, because a rejected source without a single error would read as a fault of ours.
"""

from __future__ import annotations

import re

MAX_LOG_CHARS = 256 * 1024
_HEAD_CHARS = 160 * 1024
_TAIL_CHARS = 64 * 1024
_MAX_LINE_CHARS = 2_000
_MAX_ERRORS = 10
_ERROR = re.compile(r"(?:error|fatal)\b[^\n:]{0,40}:")


def shorten_log(log: str) -> str:
    """The log itself where it is short; else head, some errors of the middle, and tail."""
    if len(log) <= MAX_LOG_CHARS:
        return log
    middle_end = len(log) - _TAIL_CHARS
    parts = [log[:_HEAD_CHARS], *_errors(log, _HEAD_CHARS, middle_end), log[middle_end:]]
    return "\n\n".join(parts)


def _errors(log: str, start: int, end: int) -> list[str]:
    """The first lines of `log[start:end]` that state an error, each once."""
    found: dict[str, None] = {}
    while len(found) < _MAX_ERRORS:
        match = _ERROR.search(log, start, end)
        if match is None:
            break
        line_start = log.rfind("\n", max(0, match.start() - _MAX_LINE_CHARS), match.start()) + 1
        line_end = log.find("\n", match.end(), min(end, match.end() + _MAX_LINE_CHARS))
        start = line_end = min(end, match.end() + _MAX_LINE_CHARS) if line_end < 0 else line_end
        found.setdefault(log[max(line_start, match.start() - _MAX_LINE_CHARS) : line_end])
    return list(found)
