"""Whether a source that the light headers rejected deserves a minute with torch's own.

A fault of the candidate's own fails with either header, so only an error that speaks of what torch,
ATen, c10, pybind11 or a header that these would bring is worth a second build. The first error
decides: those behind it may be its consequences, and if it is the candidate's own, the second build
would stop at it as well.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from coding_framework.records.compilation import Diagnostic

_LIBRARY = re.compile(
    r"\b(?:torch|at|c10|caffe2|pybind11|py)\b(?:::|\")"
    r"|\b(?:Tensor|TensorOptions|ScalarType|TensorList|IntArrayRef|PYBIND11_\w+|TORCH_\w+|AT_\w+|C10_\w+)\b"
    r"|\bcf(?:::|_\w+)|\bpybind11:"
)
_BROUGHT_ALONG = re.compile(
    r"namespace \"std\w*\" has no member|incomplete type \"std::"
    r"|cannot open source file|No such file or directory"
)
_UNNAMED_SCOPE = re.compile(r"name followed by \"::\" must be|qualified name is not allowed")
"""Here the compiler does not say which name it misses; the line does."""
_LINKER = re.compile(r"undefined reference|ld returned|cannot find -l")
"""Whatever the light headers declare is there: a name that the linker misses is the candidate's own."""


def is_worth_the_full_headers(errors: Sequence[Diagnostic]) -> bool:
    """Whether the light headers may be what is at fault."""
    if not errors:
        return False
    message, line = errors[0].message, errors[0].source_line or ""
    if _LINKER.search(message):
        return False
    if _UNNAMED_SCOPE.search(message):
        return bool(_LIBRARY.search(line))
    return bool(_LIBRARY.search(message) or _BROUGHT_ALONG.search(message))
