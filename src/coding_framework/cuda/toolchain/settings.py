"""How to compile: one frozen record, every field of it with a default that works."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from pydantic import Field

from coding_framework.config import JudgeConfig
from coding_framework.records.base import Record

CACHE_VARIABLE = "CODING_FRAMEWORK_CACHE"
GIB = 2**30


def default_cache_dir() -> Path:
    """`$CODING_FRAMEWORK_CACHE/compile`, or the user's cache folder."""
    named = os.environ.get(CACHE_VARIABLE)
    if named:
        return Path(named).expanduser() / "compile"
    from platformdirs import user_cache_path

    return user_cache_path("coding_framework", appauthor=False) / "compile"


def default_workers() -> int:
    return min(2, os.cpu_count() or 1)


class CompilerSettings(Record):
    """What `CUDACompiler` may be told."""

    architecture: str = Field(default="auto", pattern=r"^(auto|sm_\d+[af]?)$")
    """Real architecture such as `sm_90`; `auto` is the first GPU's, or `sm_90` where there is none."""
    compiler: Literal["auto", "nvrtc", "nvcc"] = "auto"
    """`auto`: NVRTC, and nvcc as the referee on rejected sources where there is one."""
    timeout_s: float = Field(default=30.0, gt=0)
    """Limit of one compilation."""
    memory_limit_bytes: int = Field(default=8 * GIB, ge=GIB // 2)
    """Address space of a compiler process; NVRTC itself takes about a sixth of a gigabyte."""
    cache_dir: Path = Field(default_factory=default_cache_dir)
    """Folder of finished compilations."""
    cache_limit_bytes: int = Field(default=2 * 10**9, ge=0)
    """Least recently used compilations go when the folder grows over this."""
    extra_flags: tuple[str, ...] = ()
    """Passed to the compiler as they are, e.g. `--use_fast_math`; what is allowed is in `flags.py`."""
    workers: int = Field(default_factory=default_workers, ge=1, le=64)
    """Compiler processes."""

    @classmethod
    def for_judge(cls, config: JudgeConfig) -> CompilerSettings:
        """What a judge's own compiler is told: one process, since a judge asks one thing at a time."""
        return cls(
            architecture=config.architecture,
            timeout_s=config.compile_timeout_s,
            memory_limit_bytes=config.compile_memory_bytes,
            extra_flags=config.compile_flags,
            workers=1,
        )
