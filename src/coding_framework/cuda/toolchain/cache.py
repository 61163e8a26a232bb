"""Compilations on disk, addressed by everything that went into them.

An entry is `<key>.cubin`, `<key>.ptx`, `<key>.cu` (the source), `<key>.json` (the
`CompilationResult`) and `<key>.sum`, the digests of the others. Every file is written beside its
place and renamed, the sum last: an entry without a matching sum does not exist, so a killed writer, a
full disk or two writers at once cannot make a wrong one. Reading an entry renews it; when the folder
outgrows its limit, those unread for longest go first. The processes of one machine may share a folder.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import threading
import time
from pathlib import Path

from pydantic import Field, ValidationError

from coding_framework.errors import StorageError
from coding_framework.records.base import Record
from coding_framework.records.compilation import CompilationResult

_SUFFIXES = ("cubin", "ptx", "cu", "json")
_SAFE_AGE_S = 60.0
"""Entries used this recently are never evicted: someone may be about to load the binary."""
_STALE_TEMPORARY_S = 3600.0


class CacheStats(Record):
    """What one process saw of its cache."""

    hits: int = Field(default=0, ge=0)
    """Compilations that were found."""
    misses: int = Field(default=0, ge=0)
    """Compilations that had to be made."""
    stored: int = Field(default=0, ge=0)
    """Entries written."""
    evicted: int = Field(default=0, ge=0)
    """Entries removed to stay within the limit."""


class CompilationCache:
    """A folder of compilations. Safe under threads, processes and `kill -9`."""

    def __init__(self, folder: Path, *, limit_bytes: int) -> None:
        self._folder = folder
        self._limit_bytes = limit_bytes
        self._lock = threading.Lock()
        self._stats = CacheStats()
        self._estimated_bytes: int | None = None

    @property
    def folder(self) -> Path:
        return self._folder

    @property
    def stats(self) -> CacheStats:
        return self._stats

    def path(self, key: str, suffix: str) -> Path:
        return self._folder / key[:2] / f"{key}.{suffix}"

    def get(self, key: str) -> CompilationResult | None:
        """The stored result, marked `from_cache`; None when there is none, or a torn one."""
        result = self._read(key)
        self._count(hits=1) if result is not None else self._count(misses=1)
        return result

    def _read(self, key: str) -> CompilationResult | None:
        try:
            sums = self.path(key, "sum").read_text().split()
            if sums != [_digest(self.path(key, suffix)) for suffix in _SUFFIXES]:
                return None
            stored = CompilationResult.model_validate_json(self.path(key, "json").read_bytes())
            os.utime(self.path(key, "sum"))
        except (OSError, ValueError, ValidationError):
            return None
        binary = self.path(key, "cubin") if stored.success else None
        return stored.model_copy(update={"from_cache": True, "binary_path": binary})

    def put(self, key: str, result: CompilationResult, source: str, cubin: bytes) -> None:
        """Store a result whose `binary_path` is this key's; raises `StorageError`."""
        contents = {"json": result.model_dump_json().encode(), "cu": source.encode()}
        if result.success:
            contents |= {"cubin": cubin, "ptx": (result.ptx or "").encode()}
        digests = [_digest_of(contents[suffix]) if suffix in contents else "-" for suffix in _SUFFIXES]
        contents["sum"] = " ".join(digests).encode()
        try:
            for suffix, content in contents.items():  # the sum comes last
                write_atomically(self.path(key, suffix), content)
        except OSError as error:
            raise StorageError(
                f"the compile cache {self._folder} cannot be written ({error.strerror or error}): "
                f"free some space, or name another folder in CODING_FRAMEWORK_CACHE"
            ) from error
        self._count(stored=1)
        self._stay_within_limit(sum(map(len, contents.values())))

    def _count(self, **increments: int) -> None:
        with self._lock:
            now = self._stats.model_dump()
            self._stats = CacheStats(**{name: value + increments.get(name, 0) for name, value in now.items()})

    def _stay_within_limit(self, added_bytes: int) -> None:
        with self._lock:
            if self._estimated_bytes is not None:
                self._estimated_bytes += added_bytes
            if self._estimated_bytes is not None and self._estimated_bytes <= self._limit_bytes:
                return
            evicted, self._estimated_bytes = self._sweep()
        if evicted:
            self._count(evicted=evicted)

    def _sweep(self) -> tuple[int, int]:
        """Remove the entries unread for longest until a tenth of the limit is free."""
        entries, now = _entries(self._folder), time.time()
        total, evicted = sum(size for _, size in entries.values()), 0
        if total <= self._limit_bytes:
            return 0, total
        for stem, (used, size) in sorted(entries.items(), key=lambda item: item[1][0]):
            if total <= 0.9 * self._limit_bytes or now - used < _SAFE_AGE_S:
                break
            for suffix in ("sum", *_SUFFIXES):  # the sum first: half an entry is none
                stem.with_suffix(f".{suffix}").unlink(missing_ok=True)
            total, evicted = total - size, evicted + 1
        return evicted, total


def _entries(folder: Path) -> dict[Path, tuple[float, int]]:
    """Stem → (last use, bytes); forgotten temporary files are removed on the way."""
    entries: dict[Path, tuple[float, int]] = {}
    for path in folder.glob("??/*"):
        with contextlib.suppress(OSError):  # another process may be sweeping too
            state = path.stat()
            if path.suffix == ".tmp":
                if time.time() - state.st_mtime > _STALE_TEMPORARY_S:
                    path.unlink(missing_ok=True)
                continue
            used, size = entries.get(path.with_suffix(""), (0.0, 0))
            entries[path.with_suffix("")] = (max(used, state.st_mtime), size + state.st_size)
    return entries


def write_atomically(path: Path, content: bytes) -> None:
    """All of the content under that name, or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        os.replace(name, path)  # noqa: PTH105
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)  # noqa: PTH108
        raise


def _digest(path: Path) -> str:
    try:
        return _digest_of(path.read_bytes())
    except FileNotFoundError:
        return "-"


def _digest_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
