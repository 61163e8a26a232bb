"""What a compiler process does with one source: compile, understand, keep.

All of it happens there, so that the asking process spends well under a millisecond on a compilation
and many compilers can run beside one interpreter.
"""

from __future__ import annotations

import importlib
import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

from coding_framework.cuda.toolchain import interpret
from coding_framework.cuda.toolchain.cache import CacheStats, CompilationCache
from coding_framework.cuda.toolchain.interpret import Backend
from coding_framework.cuda.toolchain.messages import CompileRequest, RawCompilation
from coding_framework.errors import StorageError
from coding_framework.records.compilation import CompilationResult


@dataclass(frozen=True)
class CompileJob:
    """One source for one compiler, and where its result belongs."""

    backend: Backend
    request: CompileRequest
    key: str
    cache_dir: Path
    cache_limit_bytes: int
    keep: Literal["all", "decided", "nothing"]
    """`decided`: not a rejection on which a second opinion is due, because the last word is not spoken."""


@dataclass(frozen=True)
class CompileAnswer:
    """The result, and what became of it."""

    result: CompilationResult
    cubin: bytes = b""
    """Only of what was not kept."""
    stats: CacheStats | None = None
    """What keeping it added to the cache's counts; None: it was not kept."""
    storage_error: str = ""
    """Why it could not be kept."""


def run(job: CompileJob) -> CompileAnswer:
    """Called in a worker process."""
    started = time.monotonic()
    raw = _compile(job.backend.function, job.request)
    cache = _cache(job.cache_dir, job.cache_limit_bytes)
    binary = cache.path(job.key, "cubin")
    result = interpret.understand(job.backend, raw, job.request.source, binary, time.monotonic() - started)
    is_open = job.keep == "decided" and interpret.is_worth_a_second_opinion(result)
    if is_open or job.keep == "nothing":
        return CompileAnswer(result, raw.cubin)
    before = cache.stats
    try:
        cache.put(job.key, result, job.request.source, raw.cubin)
    except StorageError as error:
        return CompileAnswer(result, storage_error=str(error))
    return CompileAnswer(result, stats=cache.stats.since(before))


def _compile(function: str, request: CompileRequest) -> RawCompilation:
    module, _, name = function.partition(":")
    raw: RawCompilation = getattr(importlib.import_module(module), name)(request)
    return raw


@lru_cache(maxsize=4)
def _cache(folder: Path, limit_bytes: int) -> CompilationCache:
    return CompilationCache(folder, limit_bytes=limit_bytes)
