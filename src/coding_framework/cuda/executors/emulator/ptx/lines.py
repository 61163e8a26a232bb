"""`.loc` directives into lines of the candidate's own file.

An instruction that was inlined out of a header is placed at the line of the candidate that called
it; line 0 (compiler-made code) keeps the line before it.
"""

from __future__ import annotations

import re

_LOC = re.compile(r"\.loc\s+(\d+)\s+(\d+)\s+\d+")
_INLINED = re.compile(r"inlined_at\s+(\d+)\s+(\d+)\s+\d+")


class LineTracker:
    """The current line while a function's body is read."""

    def __init__(self, own_file: int | None) -> None:
        self._own_file = own_file
        self.line: int | None = None

    def see(self, directive: str) -> None:
        match = _LOC.match(directive)
        if not match:
            return
        places = [(int(match[1]), int(match[2]))]
        places += [(int(m[1]), int(m[2])) for m in _INLINED.finditer(directive)]
        if self._own_file is None:
            self._own_file = places[0][0]
        for file, line in places:
            if file == self._own_file and line > 0:
                self.line = line
                return


def own_file_of(body: str) -> int | None:
    """The file in which a function begins: that of its first `.loc`."""
    match = _LOC.search(body)
    return int(match[1]) if match else None
