"""`ExtensionCompiler`: a `.cu` with a pybind `forward` in, one `ExtensionBuild` out.

Guarantees: whatever is wrong with the source comes back as a value, including an nvcc that hangs or
eats memory on it; only faults of ours are raised. The light headers come first (about two seconds);
torch's own (about a minute) only where the light ones do not fit, and both are counted. A source is
built once: the result is kept on disk under a key of everything that went into it. Not promised: that
a source is harmless, or that its host code is; running it belongs in a sandbox.
"""

from __future__ import annotations

import hashlib
import queue
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import structlog

from coding_framework.cuda.extension.building import NO_TORCH, BuildRequest, RawBuild
from coding_framework.cuda.extension.fit import is_worth_the_full_headers
from coding_framework.cuda.extension.headers import headers_digest
from coding_framework.cuda.extension.outcome import Outcomes, error, source_faults
from coding_framework.cuda.extension.records import (
    ExtensionBuild,
    ExtensionSettings,
    ExtensionStats,
    Header,
)
from coding_framework.cuda.extension.store import ExtensionStore
from coding_framework.cuda.toolchain.detect import DEFAULT_ARCHITECTURE, find_gpus, usable_nvcc
from coding_framework.cuda.worker import Worker
from coding_framework.errors import ToolchainMissingError, WorkerOutOfMemory, WorkerTimeout
from coding_framework.records.compilation import Diagnostic

_log = structlog.get_logger(__name__)
_FORMAT = "1"
"""Part of every cache key; raised when results would be made differently from the same inputs."""
_RUNTIME_TIMEOUT_S = 120.0


@dataclass(frozen=True)
class _Attempt:
    build: ExtensionBuild
    raw: RawBuild | None
    """None when nvcc did not end by itself: that may not happen again, so it is not cached."""


class ExtensionCompiler:
    """Builds extensions. Safe to share between threads; `settings.workers` builds at once."""

    def __init__(self, settings: ExtensionSettings | None = None) -> None:
        self.settings = settings or ExtensionSettings()
        found = usable_nvcc()
        if found is None:
            raise ToolchainMissingError(
                "extensions are built with nvcc and g++: install the CUDA toolkit (or pip install "
                "nvidia-cuda-nvcc) and g++; the contract `kernel` needs neither"
            )
        self._nvcc, self._toolkit = str(found[0]), found[1]
        self._architecture = _choose_architecture(self.settings.architecture)
        self._outcomes = Outcomes(self._architecture, self._toolkit)
        self._store = ExtensionStore(self.settings.cache_dir, limit_bytes=self.settings.cache_limit_bytes)
        self._lock = threading.Lock()
        self._stats = ExtensionStats()
        self._key_locks = [threading.Lock() for _ in range(64)]
        self._workers = [
            Worker(memory_limit_bytes=self.settings.memory_limit_bytes, name=f"extension compiler {number}")
            for number in range(self.settings.workers)
        ]
        self._idle: queue.LifoQueue[Worker] = queue.LifoQueue()
        for worker in self._workers:
            self._idle.put(worker)

    @property
    def architecture(self) -> str:
        """What is compiled for, e.g. `sm_90`."""
        return self._architecture

    @property
    def stats(self) -> ExtensionStats:
        """How the builds so far went."""
        return self._stats

    def compile(self, source: str) -> ExtensionBuild:
        """Build one source, or take it from the cache."""
        faults = source_faults(source)
        if faults:
            self._count("failed")
            return self._outcomes.failure("light", faults, 0.0)
        key = self._key(source)
        with self._key_locks[int(key[:8], 16) % len(self._key_locks)]:  # the same source at once: one works
            found = self._store.get(key)
            if found is not None:
                self._count("cached")
                return found
            return self._build_and_store(key, source)

    def close(self) -> None:
        """End the worker processes; safe to call twice."""
        for worker in self._workers:
            worker.close()

    def __enter__(self) -> ExtensionCompiler:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _key(self, source: str) -> str:
        settings = self.settings
        parts = [
            _FORMAT,
            source,
            self._architecture,
            self._toolkit,
            headers_digest(),
            str(settings.fall_back),
        ]
        return hashlib.sha256("\0".join([*parts, *settings.extra_flags]).encode()).hexdigest()

    def _build_and_store(self, key: str, source: str) -> ExtensionBuild:
        self._build_runtime_once(key)
        attempt = self._attempt("light", key, source)
        if self._should_fall_back(attempt):
            self._count("fallbacks")
            attempt = self._fall_back(attempt, key, source)
        self._count(attempt.build.header if attempt.build.success else "failed")
        if attempt.raw is not None:
            self._store.put(key, attempt.build, attempt.raw.shared_object)
        return attempt.build

    def _build_runtime_once(self, key: str) -> None:
        """The light headers' own code is no part of any source: it counts in no build's time or limit."""
        request = self._request(key, "")
        if not Path(request.runtime_object).is_file():
            with self._borrowed_worker() as worker:
                function = "coding_framework.cuda.extension.building:build_runtime"
                worker.call(function, request, timeout_s=_RUNTIME_TIMEOUT_S)

    def _should_fall_back(self, attempt: _Attempt) -> bool:
        build = attempt.build
        rejected = not build.success and attempt.raw is not None
        return self.settings.fall_back and rejected and is_worth_the_full_headers(build.errors)

    def _fall_back(self, light: _Attempt, key: str, source: str) -> _Attempt:
        """The full build, or the light one's words where the full headers cannot judge."""
        _log.info("extension_needs_full_headers", key=key[:16], reason=light.build.errors[0].message)
        full = self._attempt("full", key, source)
        duration_s = light.build.duration_s + full.build.duration_s
        best = full
        if full.raw is not None and full.raw.outcome == "unavailable":
            note = Diagnostic(severity="note", message=f"not tried with torch's own headers: {NO_TORCH}")
            kept = light.build.model_copy(update={"diagnostics": (*light.build.diagnostics, note)})
            best = _Attempt(kept, None)  # torch may be there next time
        elif full.raw is not None and not full.build.success and not full.raw.has_cuda_headers:
            best = light
        return _Attempt(best.build.model_copy(update={"duration_s": duration_s}), best.raw)

    def _attempt(self, header: Header, key: str, source: str) -> _Attempt:
        started = time.monotonic()
        limit_s = self.settings.light_timeout_s if header == "light" else self.settings.full_timeout_s
        try:
            with self._borrowed_worker() as worker:
                function = f"coding_framework.cuda.extension.building:build_{header}"
                raw: RawBuild = worker.call(function, self._request(key, source), timeout_s=limit_s)
        except WorkerTimeout:
            words = (error(f"the compiler did not end within {limit_s:g} s"),)
            return _Attempt(self._outcomes.failure(header, words, limit_s, timed_out=True), None)
        except WorkerOutOfMemory:
            words = (error("the compiler ran out of memory"),)
            return _Attempt(self._outcomes.failure(header, words, time.monotonic() - started), None)
        where = self._store.path(key, "so"), _module_name(key)
        build = self._outcomes.understood(header, raw, source, where, time.monotonic() - started)
        return _Attempt(build, raw)

    def _request(self, key: str, source: str) -> BuildRequest:
        runtime = self._store.runtime_dir / f"{headers_digest()}-{self._toolkit}.o"
        return BuildRequest(
            source=source,
            nvcc=self._nvcc,
            architecture=self._architecture,
            extra_flags=self.settings.extra_flags,
            runtime_object=str(runtime),
            module_name=_module_name(key),
        )

    def _count(self, name: str) -> None:
        with self._lock:
            self._stats = self._stats.model_copy(update={name: getattr(self._stats, name) + 1})

    @contextmanager
    def _borrowed_worker(self) -> Iterator[Worker]:
        worker = self._idle.get()
        try:
            yield worker
        finally:
            self._idle.put(worker)


def _module_name(key: str) -> str:
    return f"cf_extension_{key[:16]}"


def _choose_architecture(wanted: str) -> str:
    if wanted != "auto":
        return wanted
    _, gpus, _ = find_gpus()
    return gpus[0].architecture if gpus else DEFAULT_ARCHITECTURE
