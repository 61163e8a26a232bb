"""Headers that NVRTC receives in memory, so that it accepts what nvcc accepts.

NVRTC has no host headers and lacks overloads that nvcc's implicit `<cuda_runtime.h>` brings. The
prelude supplies the overloads; the stand-ins below answer `#include <cmath>` and its like. Host-only
headers are empty: device code cannot use what they declare, and including them is no mistake.
CUDA's own headers (`cuda_fp16.h`, `mma.h`, cooperative groups, cub) come from disk.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache
from importlib import resources

PRELUDE = "cf/prelude.h"
PLAIN_PRELUDE = "cf/plain.h"
SOURCE_NAME = "kernel.cu"

_INTERNAL = ("prelude.h", "plain.h", "type_traits.h", "limits.h", "math.h")
_WITH_INTEGER_TYPES = (
    *("cuda.h", "iostream", "fstream", "sstream", "iomanip", "ostream", "istream", "string", "string_view"),
    *("memory", "chrono", "thread", "mutex", "atomic", "random", "stdexcept", "system_error", "locale"),
    *("regex", "future", "condition_variable"),
)
"""Headers of which device code can use nothing but `uint32_t` and its like, which they bring elsewhere."""
_FILES = {
    "float.h": ("float.h", "cfloat"),
    "stdint.h": ("stdint.h", "cstdint", "inttypes.h", "cinttypes", *_WITH_INTEGER_TYPES),
    "stddef.h": ("stddef.h", "cstddef"),
    "stdio.h": ("stdio.h", "cstdio"),
    "stdlib.h": ("stdlib.h", "cstdlib"),
    "string.h": ("string.h", "cstring", "memory.h"),
    "algorithm.h": ("algorithm",),
    "cub.h": ("cub/cub.cuh",),
}
_IN_THE_PRELUDE = (
    *("math.h", "cmath", "limits.h", "climits", "limits", "type_traits", "utility", "assert.h", "cassert"),
    *("initializer_list", "sys/types.h", "new"),
    *("cuda_runtime.h", "cuda_runtime_api.h", "device_launch_parameters.h", "driver_types.h"),
    *("device_functions.h", "math_functions.h", "device_atomic_functions.h", "sm_20_intrinsics.h"),
    *("sm_30_intrinsics.h", "vector_types.h", "vector_functions.h", "builtin_types.h", "host_defines.h"),
)
_HOST_ONLY = (
    *("iosfwd", "vector", "map", "set", "unordered_map", "unordered_set", "list", "deque", "queue", "stack"),
    *("exception", "errno.h", "cerrno", "time.h", "ctime", "signal.h", "csignal", "stdarg.h", "cstdarg"),
    *("ctype.h", "cctype", "unistd.h", "sys/time.h", "typeinfo", "optional"),
)
_EMPTY = (*_IN_THE_PRELUDE, *_HOST_ONLY)
_OVERLOADED = frozenset(
    [
        "abs",
        "acos",
        "acosh",
        "asin",
        "asinh",
        "atan",
        "atan2",
        "atanh",
        "cbrt",
        "ceil",
        "copysign",
        "cos",
        "cosh",
        "erf",
        "erfc",
        "exp",
        "exp2",
        "expm1",
        "fabs",
        "fdim",
        "floor",
        "fma",
        "fmax",
        "fmin",
        "fmod",
        "frexp",
        "hypot",
        "ilogb",
        "isfinite",
        "isgreater",
        "isgreaterequal",
        "isinf",
        "isless",
        "islessequal",
        "islessgreater",
        "isnan",
        "isunordered",
        "ldexp",
        "lgamma",
        "llrint",
        "llround",
        "log",
        "log10",
        "log1p",
        "log2",
        "logb",
        "lrint",
        "lround",
        "max",
        "min",
        "modf",
        "nearbyint",
        "nextafter",
        "pow",
        "remainder",
        "remquo",
        "rint",
        "round",
        "scalbn",
        "signbit",
        "sin",
        "sinh",
        "sqrt",
        "tan",
        "tanh",
        "tgamma",
        "trunc",
    ]
)
"""Functions of which the prelude has an overload, or which it puts into `std`."""
_INCLUDED = re.compile(r"\b(?:include\w*|import|embed)\b(?:\s*<([^>\n]*)>)?")
_MORE = re.compile(rf"\#\#|%:%:|\?\?=|<<<|\b(?:(?:cuda|tex|surf)\w*|std|{'|'.join(_OVERLOADED)})\b")
_COMMENT_LINE = re.compile(r"^[ \t]*//(?:(?!\*/)[^\"\r\n])*+\r?$", re.MULTILINE)
"""Nothing in such a line is code: it ends neither a string nor a comment that began before it."""
_SPLICED = re.compile(r"\\\s|\?\?")
"""Where lines are joined, or trigraphs may join them, a line may begin in the middle of a token."""
_FROM_CUDA_STD = ("array", "tuple", "functional", "numeric", "iterator", "bit", "complex", "ratio")


@cache
def standin_headers() -> dict[str, str]:
    """Name in `#include` → text."""
    headers = {f"cf/{name}": _text(name) for name in _INTERNAL}
    for file, names in _FILES.items():
        headers.update(dict.fromkeys(names, _text(file)))
    headers.update(dict.fromkeys(_EMPTY, "#pragma once\n"))
    headers.update({name: _from_cuda_std(name) for name in _FROM_CUDA_STD})
    return headers


@cache
def standin_digest() -> str:
    """Changes whenever any header does; part of every cache key."""
    digest = hashlib.sha256()
    for name, text in sorted(standin_headers().items()):
        digest.update(f"{name}\0{text}\0".encode())
    return digest.hexdigest()[:16]


def with_prelude(source: str, *, plain: bool) -> str:
    """The source as NVRTC gets it: line numbers are still the candidate's."""
    prelude = PLAIN_PRELUDE if plain else PRELUDE
    return f'#include "{prelude}"\n#line 1 "{SOURCE_NAME}"\n{source}'


def is_plain(source: str) -> bool:
    """Whether it can use neither our overloads nor CUDA's runtime: reading those takes 14 of 31 ms.

    Not plain is what mentions a name of theirs, launches kernels, pastes names together, or includes more
    than a header that is empty. A mention in a comment beside code counts: that costs time and nothing else.
    """
    if not _SPLICED.search(source):
        source = _COMMENT_LINE.sub("", source)
    if any(name not in _EMPTY for name in _INCLUDED.findall(source)):
        return False
    return _MORE.search(_INCLUDED.sub("", source)) is None


def _text(name: str) -> str:
    return resources.files(f"{__package__}.headers").joinpath(name).read_text()


def _from_cuda_std(name: str) -> str:
    """CCCL has device versions under `cuda::std`; our own names in `std` hide theirs."""
    return f"#pragma once\n#include <cuda/std/{name}>\nnamespace std {{ using namespace cuda::std; }}\n"
