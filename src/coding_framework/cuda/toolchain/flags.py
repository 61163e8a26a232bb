"""Which compiler flags a configuration may pass.

A list of what is allowed, not of what is forbidden: a flag can make a compiler read or write any file
of the host (`-include`, `--keep`, `-o`), call another program (`-ccbin`) or hand words on to one
(`-Xcompiler`). What is listed changes the code that is made, and nothing else; NVRTC and nvcc both
know it. No value can hold a path.
"""

from __future__ import annotations

import re

from coding_framework.errors import ConfigError

_SWITCHES = frozenset(
    {
        *("--use_fast_math", "-use_fast_math", "--extra-device-vectorization", "-extra-device-vectorization"),
        *("--restrict", "-restrict", "-lineinfo", "--generate-line-info", "-w", "--disable-warnings"),
    }
)
_VALUES = (
    re.compile(r"--?(?:ftz|prec-sqrt|prec-div|fmad)=(?:true|false)"),
    re.compile(r"--?maxrregcount=\d{1,3}"),
    re.compile(r"--?std=c\+\+(?:17|20)"),
    re.compile(r"(?:-Xptxas|--ptxas-options)=-O[0-3]"),
    re.compile(r"(?:-D|--define-macro=)[A-Za-z_]\w*(?:=[\w.+\-]*)?"),
    re.compile(r"(?:-U|--undefine-macro=)[A-Za-z_]\w*"),
)
EXAMPLES = "--use_fast_math, --maxrregcount=64, --ftz=true, --fmad=false, -DNAME=VALUE, --std=c++17"


def check_flags(flags: tuple[str, ...]) -> None:
    """Raise `ConfigError` for the first flag that is not known to be harmless."""
    for flag in flags:
        if not _is_allowed(flag):
            raise ConfigError(
                f"the compiler flag {flag!r} is not allowed: only flags that change nothing but the code "
                f"are, each as one word, e.g. {EXAMPLES}"
            )


def _is_allowed(flag: str) -> bool:
    return flag in _SWITCHES or any(pattern.fullmatch(flag) for pattern in _VALUES)
