"""What crosses the process boundary between the compiler and its worker: plain data, quick to pickle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class CompileRequest:
    """One source and how to compile it."""

    source: str
    architecture: str
    extra_flags: tuple[str, ...]
    include_dirs: tuple[str, ...]
    tool: str = ""
    """Path of nvcc; unused by NVRTC, which is a library."""


@dataclass(frozen=True)
class RawCompilation:
    """What a compiler that ended by itself left behind, not yet understood."""

    outcome: Literal["built", "rejected"]
    log: str
    ptx: str = ""
    cubin: bytes = b""
    code_digest: str = ""
    """Of the PTX without names and places; made where the compiling is done, because it takes a while."""
