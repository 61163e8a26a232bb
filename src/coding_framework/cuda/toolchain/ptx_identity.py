"""When two sources are the same code: their PTX without what only names or places things.

Comments, line info, the debug section and the names of variables say nothing about what runs. Two
texts that are equal without them assemble to the same instructions, so they may share a binary and
what running it showed. Kernel names stay: a launch plan calls kernels by them. Instructions stay as
they are: equal work written in another way is a different code, judged for itself.
"""

from __future__ import annotations

import hashlib
import re

_SILENT = re.compile(
    r"""
      "[^"\n]*"
    | //[^\n]* | /\*.*?\*/
    | \.loc\s+\d+\s+\d+\s+\d+(?:\s*,\s*function_name\s+[\w$]+(?:\s*\+\s*\d+)?)?
          (?:\s*,\s*inlined_at\s+\d+\s+\d+\s+\d+)?(?![\w$%.])
    | \.file\s+\d+\s+"[^"\n]*"(?:\s*,\s*\d+\s*,\s*\d+)?
    | \.section\s+\.debug_\w+\s*\{[^{}]*\}
    """,
    re.VERBOSE | re.DOTALL,
)
"""Texts, which stay, and what says nothing: comments, places, the debug section.

Exactly the directives, never the rest of their line: PTX puts no meaning in line ends. Without groups a
search takes a third of the time."""
_VARIABLE = re.compile(
    r"\.(?:shared|global|const)\s+(?:\.align\s+\d+\s+)?(?:\.\w+\s+)+([\w$]+)\s*(?=[\[;=,])"
)
_STATEMENT = re.compile(r"(?:^|[;{}:])\s*(?:@\S+\s+)?([a-z]+)\b", re.MULTILINE)
_WORD = re.compile(r'"[^"\n]*"|[\w$%.]+')


def ptx_key(digest: str, *context: str) -> str:
    """One key for every source with the code of this digest; `context` is what else decides the binary."""
    return hashlib.sha256("\0".join((digest, *context)).encode()).hexdigest()


def code_digest(ptx: str) -> str:
    """Equal for texts that are the same code."""
    return hashlib.sha256(normalised_ptx(ptx).encode()).hexdigest()


def normalised_ptx(ptx: str) -> str:
    """The text without comments, places and the names of variables; layout as single spaces."""
    text = _SILENT.sub(lambda match: match[0] if match[0][0] == '"' else " ", ptx)
    names = list(dict.fromkeys(_VARIABLE.findall(text)))
    if not names:
        return " ".join(text.split())
    opcodes = set(_STATEMENT.findall(text))  # a variable may be called `ret`; an instruction stays one
    names = [name for name in names if name not in opcodes]
    numbered = {name: f"\N{SECTION SIGN}{at}" for at, name in enumerate(names)}  # no sign of PTX itself
    return " ".join(_WORD.sub(lambda match: numbered.get(match[0], match[0]), text).split())
