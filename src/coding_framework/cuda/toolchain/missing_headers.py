"""Which `#include` a source lacks, by the names that the compiler did not know."""

from __future__ import annotations

import re
from collections.abc import Iterable

from coding_framework.records.compilation import Diagnostic

_HEADERS = (
    (
        r"(?:__)?half2?(?:_raw)?|__(?:float2?|int|uint|short|ushort)2half\w*|__h\w+2?|__(?:half|low|high)\w*",
        "cuda_fp16.h",
    ),
    (r"(?:__)?nv_bfloat16\w*|__nv_bfloat162|__\w*2bfloat16\w*|__bfloat16\w*", "cuda_bf16.h"),
    (r"__nv_fp8\w*|__nv_cvt_\w*fp8\w*", "cuda_fp8.h"),
    (r"nvcuda|wmma", "mma.h"),
    (r"cooperative_groups|cg", "cooperative_groups.h"),
    (r"cub", "cub/cub.cuh"),
    (r"u?int(?:8|16|32|64)_t|u?intptr_t|U?INT(?:8|16|32|64)_(?:MAX|MIN)", "cstdint"),
    (r"(?:FLT|DBL|LDBL)_\w+", "cfloat"),
    (r"U?(?:INT|LONG|LLONG|CHAR|SHRT|SCHAR)_(?:MAX|MIN)", "climits"),
    (r"INFINITY|NAN|HUGE_VALF?|M_PI\w*|M_E|M_SQRT\w*|M_LN\w*", "cmath"),
    (r"printf", "cstdio"),
    (r"assert", "cassert"),
)
"""The first that fits has it."""
_UNKNOWN = re.compile(r'identifier "(\w+)" is undefined')
_NO_NAMESPACE = 'name followed by "::" must be a class or namespace name'
_QUALIFIED = re.compile(r"\b(\w+)\s*::")


def missing_headers(errors: Iterable[Diagnostic], source: str) -> dict[str, str]:
    """Header → a name of it that was used, for headers that the source does not include."""
    found: dict[str, str] = {}
    for name in (name for error in errors for name in _unknown_names(error)):
        header = next((header for names, header in _HEADERS if re.fullmatch(names, name)), None)
        if header is not None and not _includes(source, header):
            found.setdefault(header, name)
    return found


def _unknown_names(error: Diagnostic) -> list[str]:
    if _NO_NAMESPACE in error.message:
        return _QUALIFIED.findall(error.source_line or "")
    return _UNKNOWN.findall(error.message)


def _includes(source: str, header: str) -> bool:
    return re.search(rf"#\s*include\s*[<\"]{re.escape(header)}[>\"]", source) is not None
