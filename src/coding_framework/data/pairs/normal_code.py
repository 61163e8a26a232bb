"""When two kernels are the same text but for names, layout and remarks.

Guarantees: the form is equal for texts that differ in comments, white space, names of kernels,
parameters and variables, `const` and `__restrict__`; different tokens or numbers give different forms.
The launch plan is not part of it: the same code on another grid is the same code.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator

from tree_sitter import Node

from coding_framework.cuda.analysis.syntax import parse, text, walk
from coding_framework.cuda.toolchain.ptx_identity import normalised_ptx
from coding_framework.data.pairs.source_edit import kernel_names, local_names

_SILENT = frozenset({"const", "__restrict__", "static", "__forceinline__", "inline"})
_ENTRY = re.compile(r"\.entry\s+([\w$]+)")


def tokens(source: str) -> tuple[str, ...]:
    """The words of the code in order, without comments."""
    return tuple(text(node) for node in _leaves(source))


def _leaves(source: str) -> Iterator[Node]:
    return (node for node in walk(parse(source)) if not node.children and node.type != "comment")


def normal_code(source: str) -> str:
    """Digest of the code with its names numbered in the order in which they come."""
    own = {*kernel_names(source), *local_names(source)}
    numbers: dict[str, str] = {}
    form = []
    for node in _leaves(source):
        word = text(node)
        if node.type == "identifier" and word in own:  # the `x` of `threadIdx.x` is a field, not a name
            form.append(numbers.setdefault(word, f"${len(numbers)}"))
        elif word not in _SILENT:
            form.append(word)
    return _digest(" ".join(form))


def normal_ptx(ptx: str) -> str:
    """Digest of the compiled code, whatever its kernels are called."""
    code = normalised_ptx(ptx)
    for number, name in enumerate(dict.fromkeys(_ENTRY.findall(code))):
        code = re.sub(rf"(?<![\w$%.]){re.escape(name)}(?=(?:_param_\d+)?(?![\w$%.]))", f"${number}", code)
    return _digest(code)


def _digest(words: str) -> str:
    return hashlib.sha256(words.encode()).hexdigest()
