"""`CUDACompiler`: one source in, one `CompilationResult` out.

Guarantees: whatever is wrong with the source comes back as a value, including compilers that hang,
crash or eat memory on it; only faults of ours are raised. A source is compiled in a worker process
under limits, once: the result is kept on disk under a key of everything that went into it, and sources
with the same code share one binary. NVRTC answers first; where it rejects a source for a reason that
nvcc may not share, an nvcc on this machine has the last word. Not promised: that a source is harmless.
That is the safety analysis' part.
"""

from __future__ import annotations

import asyncio
import hashlib
import queue
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Literal

import structlog

from coding_framework.cuda.toolchain import interpret
from coding_framework.cuda.toolchain.cache import CacheStats, CompilationCache
from coding_framework.cuda.toolchain.compile_job import CompileAnswer, CompileJob
from coding_framework.cuda.toolchain.detect import choose_architecture, usable_nvcc
from coding_framework.cuda.toolchain.flags import check_flags
from coding_framework.cuda.toolchain.interpret import Backend
from coding_framework.cuda.toolchain.locate import include_dirs
from coding_framework.cuda.toolchain.messages import CompileRequest
from coding_framework.cuda.toolchain.nvrtc import nvrtc_version, supported_architectures
from coding_framework.cuda.toolchain.settings import CompilerSettings
from coding_framework.cuda.toolchain.source_scan import find_source_faults, telling_name
from coding_framework.cuda.toolchain.standins import standin_digest
from coding_framework.cuda.worker import Worker
from coding_framework.errors import (
    ConfigError,
    JudgeFault,
    StorageError,
    ToolchainMissingError,
    WorkerDied,
    WorkerOutOfMemory,
    WorkerTimeout,
)
from coding_framework.records.compilation import CompilationResult

_log = structlog.get_logger(__name__)

__all__ = ["CUDACompiler", "CompilationResult", "CompiledParcel", "CompilerSettings"]

_Keep = Literal["all", "decided", "nothing"]
_RUN_JOB = "coding_framework.cuda.toolchain.compile_job:run"
_FORMAT = "4"
"""Part of every cache key; raised when results would be made differently from the same inputs."""


@dataclass(frozen=True)
class CompiledParcel:
    """A successful compilation on its way to another machine."""

    key: str
    """The cache key: equal keys mean equal compilers, flags and sources."""
    source: str
    result: CompilationResult
    cubin: bytes


@dataclass(frozen=True)
class _Answered:
    """What one compiler said of a source."""

    result: CompilationResult
    cubin: bytes = b""
    is_final: bool = False


class CUDACompiler:
    """Compiles CUDA C++ to PTX and cubin. Safe to share between threads; many compilations at once."""

    def __init__(self, settings: CompilerSettings | None = None) -> None:
        self.settings = settings or CompilerSettings()
        check_flags(self.settings.extra_flags)
        self._cache = CompilationCache(self.settings.cache_dir, limit_bytes=self.settings.cache_limit_bytes)
        self._architecture, self._architecture_reason = choose_architecture(self.settings.architecture)
        self._first, self._referee = _choose_backends(self.settings, self._architecture)
        limit = self.settings.memory_limit_bytes
        names = [f"compiler {number}" for number in range(self.settings.workers)]
        self._workers = [Worker(memory_limit_bytes=limit, name=name) for name in names]
        self._idle: queue.LifoQueue[Worker] = queue.LifoQueue()
        for worker in self._workers:
            self._idle.put(worker)
        self._threads = ThreadPoolExecutor(self.settings.workers, thread_name_prefix="compile")
        self._key_locks = [threading.Lock() for _ in range(64)]

    @property
    def architecture(self) -> str:
        """What is compiled for, e.g. `sm_90`."""
        return self._architecture

    @property
    def architecture_reason(self) -> str:
        """Why that one, in words."""
        return self._architecture_reason

    @property
    def cache_stats(self) -> CacheStats:
        """Hits and misses so far."""
        return self._cache.stats

    async def compile_kernel(self, source: str) -> CompilationResult:
        """Like `compile`, without blocking the event loop."""
        return await asyncio.wrap_future(self._threads.submit(self.compile, source))

    def compile(self, source: str) -> CompilationResult:
        """Compile one source, or take it from the cache."""
        faults = find_source_faults(source)
        if faults:
            return interpret.refused(self._first, faults)
        key = self._key(source)
        with self._key_locks[int(key[:8], 16) % len(self._key_locks)]:  # the same source at once: one works
            found = self._cache.get(key)
            return found if found is not None else self._compile_and_store(key, source)

    def parcel(self, source: str) -> CompiledParcel | None:
        """Compile, and pack the result for another machine's cache; None for what is not cached."""
        result = self.compile(source)
        if not result.success:
            return None
        assert result.binary_path is not None
        return CompiledParcel(self._key(source), source, result, result.binary_path.read_bytes())

    def adopt(self, parcel: CompiledParcel) -> bool:
        """Take over what another machine compiled, if we would have made it from the same things."""
        if parcel.key != self._key(parcel.source):
            return False
        if self._cache.get(parcel.key) is None:
            own = parcel.result.model_copy(update={"binary_path": self._cache.path(parcel.key, "cubin")})
            self._cache.put(parcel.key, own, parcel.source, parcel.cubin)
        return True

    def close(self) -> None:
        """End the compiler processes; safe to call twice."""
        self._threads.shutdown(wait=True, cancel_futures=True)
        for worker in self._workers:
            worker.close()

    def __enter__(self) -> CUDACompiler:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _key(self, source: str) -> str:
        parts = [_FORMAT, source, self._architecture, standin_digest(), self.settings.compiler]
        parts += [part for backend in (self._first, self._referee) if backend for part in backend.identity]
        parts += self.settings.extra_flags
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    def _compile_and_store(self, key: str, source: str) -> CompilationResult:
        name = None if self._first.name == "nvcc" else telling_name(source)
        if name is None:
            return self._compile_fast(key, source)
        if self._referee is None:
            return interpret.asks_which_compiler(self._first, name, source)
        return self._run(self._referee, key, source, keep="all").result

    def _compile_fast(self, key: str, source: str) -> CompilationResult:
        """By NVRTC, and by nvcc where that may know better."""
        first = self._run(self._first, key, source, keep="decided" if self._referee else "all")
        if self._referee is None or not interpret.is_worth_a_second_opinion(first.result):
            return first.result
        try:
            second = self._run(self._referee, key, source, keep="nothing")
        except JudgeFault as error:  # a broken nvcc must not take NVRTC's answer away
            _log.warning("referee_failed", compiler="nvcc", tool=self._referee.tool, reason=str(error))
            return first.result
        last = second if second.result.success else first
        if second.is_final:
            self._cache.put(key, last.result, source, last.cubin)
        return last.result

    def _run(self, backend: Backend, key: str, source: str, *, keep: _Keep) -> _Answered:
        """One compiler's answer; a hang or a crash may not happen again, so it is not final."""
        started = time.monotonic()
        try:
            answer = self._ask(self._job(backend, key, source, keep))
        except WorkerTimeout:
            return _Answered(interpret.timed_out(backend, self.settings.timeout_s))
        except WorkerOutOfMemory:
            return _Answered(interpret.out_of_memory(backend, time.monotonic() - started))
        except WorkerDied as error:
            return _Answered(interpret.crashed(backend, error, time.monotonic() - started))
        if answer.storage_error:
            raise StorageError(answer.storage_error)
        if answer.stats is not None:
            self._cache.add(answer.stats)
        return _Answered(answer.result, answer.cubin, is_final=True)

    def _ask(self, job: CompileJob) -> CompileAnswer:
        with self._borrowed_worker() as worker:
            answer: CompileAnswer = worker.insist(_RUN_JOB, job, timeout_s=self.settings.timeout_s)
        return answer

    def _job(self, backend: Backend, key: str, source: str, keep: _Keep) -> CompileJob:
        request = CompileRequest(
            source=source,
            architecture=self._architecture,
            extra_flags=self.settings.extra_flags,
            include_dirs=tuple(str(folder) for folder in include_dirs()),
            tool=backend.tool,
        )
        return CompileJob(
            backend=backend,
            request=request,
            key=key,
            cache_dir=self.settings.cache_dir,
            cache_limit_bytes=self.settings.cache_limit_bytes,
            keep=keep,
        )

    @contextmanager
    def _borrowed_worker(self) -> Iterator[Worker]:
        worker = self._idle.get()
        try:
            yield worker
        finally:
            self._idle.put(worker)


def _choose_backends(settings: CompilerSettings, architecture: str) -> tuple[Backend, Backend | None]:
    flags = settings.extra_flags
    nvcc = _nvcc_backend(architecture, flags) if settings.compiler != "nvrtc" else None
    if settings.compiler == "nvcc":
        if nvcc is None:
            raise ToolchainMissingError(
                "no usable nvcc: install the CUDA toolkit (or pip install nvidia-cuda-nvcc) and g++, "
                "or leave the choice to `auto`"
            )
        return nvcc, None
    if architecture not in supported_architectures():
        known = ", ".join(supported_architectures())
        raise ConfigError(f"NVRTC {nvrtc_version()} cannot compile for {architecture}; it knows {known}")
    return _backend("nvrtc", nvrtc_version(), architecture, flags), nvcc


def _nvcc_backend(architecture: str, flags: tuple[str, ...]) -> Backend | None:
    found = usable_nvcc()
    return None if found is None else _backend("nvcc", found[1], architecture, flags, str(found[0]))


def _backend(
    name: Literal["nvrtc", "nvcc"], version: str, architecture: str, flags: tuple[str, ...], tool: str = ""
) -> Backend:
    function = f"coding_framework.cuda.toolchain.{name}:compile_request"
    return Backend(
        name=name, toolkit=version, architecture=architecture, function=function, tool=tool, flags=flags
    )
