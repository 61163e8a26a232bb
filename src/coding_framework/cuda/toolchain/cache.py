"""Compilations on disk, addressed by everything that went into them.

An entry is `<key>.cubin`, `<key>.ptx`, `<key>.cu` (the source), `<key>.json` (the
`CompilationResult`) and `<key>.sum`, the digests of the others. Every file is written beside its
place and renamed, the sum last: an entry without a matching sum does not exist, so a killed writer, a
full disk or two writers at once cannot make a wrong one. Reading an entry renews it; when the folder
outgrows its limit, those unread for longest go first. The processes of one machine may share a folder.

Second level: `<ptx key>.code` with its own sum is the binary of all sources with that code; their
`.cubin` files are hard links to it, or copies where the file system has no links.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
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
    shared: int = Field(default=0, ge=0)
    """Entries whose binary another source had left: the same code under other names or comments."""

    def since(self, earlier: CacheStats) -> CacheStats:
        """What was added after `earlier`."""
        before = earlier.model_dump()
        return CacheStats(**{name: value - before[name] for name, value in self.model_dump().items()})


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

    def add(self, stats: CacheStats) -> None:
        """Count what another process did to this folder on our behalf."""
        self._count(**stats.model_dump())

    def put(self, key: str, result: CompilationResult, source: str, cubin: bytes) -> None:
        """Store a result whose `binary_path` is this key's; raises `StorageError`."""
        contents = {"json": result.model_dump_json().encode(), "cu": source.encode()}
        try:
            if result.success:
                contents["ptx"] = (result.ptx or "").encode()
                cubin = self._place_binary(key, result.ptx_key, cubin)
            digests = {suffix: _digest_of(content) for suffix, content in contents.items()}
            digests |= {"cubin": _digest_of(cubin)} if result.success else {}
            contents["sum"] = " ".join(digests.get(suffix, "-") for suffix in _SUFFIXES).encode()
            for suffix, content in contents.items():  # the sum comes last
                write_atomically(self.path(key, suffix), content)
        except OSError as error:
            raise StorageError(
                f"the compile cache {self._folder} cannot be written ({error.strerror or error}): "
                f"free some space, or name another folder in CODING_FRAMEWORK_CACHE"
            ) from error
        self._count(stored=1)
        self._stay_within_limit(sum(map(len, contents.values())) + len(cubin))

    def _place_binary(self, key: str, code_key: str, cubin: bytes) -> bytes:
        """Put the binary in its place and return it: another source's, if that one had the same code."""
        place, shared = self.path(key, "cubin"), self.path(code_key, "code")
        kept = self._read_shared(code_key) if code_key else None
        if kept is not None and _link(shared, place):
            self._count(shared=1)
            return kept
        write_atomically(place, cubin)
        if code_key and _link(place, shared):
            write_atomically(self.path(code_key, "sum"), _digest_of(cubin).encode())
        return cubin

    def _read_shared(self, code_key: str) -> bytes | None:
        total = self.path(code_key, "sum")
        try:
            content = self.path(code_key, "code").read_bytes()
            if total.read_text() != _digest_of(content):
                return None
            os.utime(total)
        except OSError:
            return None
        return content

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
        """Remove the entries unread for longest until a tenth of the limit is free.

        Removing one name of a linked binary frees nothing yet, so the folder is weighed again after it.
        """
        evicted, target = 0, float(self._limit_bytes)
        while True:
            entries = _entries(self._folder)
            total = sum(size for _, size in entries.values())
            removed = _evict(entries, total - 0.9 * self._limit_bytes) if total > target else 0
            if not removed:
                return evicted, total
            evicted, target = evicted + removed, 0.9 * self._limit_bytes


def _evict(entries: dict[Path, tuple[float, int]], excess_bytes: float) -> int:
    """Remove the oldest until so much is gone by name; returns how many entries."""
    evicted, now = 0, time.time()
    for stem, (used, size) in sorted(entries.items(), key=lambda item: item[1][0]):
        if excess_bytes <= 0 or now - used < _SAFE_AGE_S:
            break
        for suffix in ("sum", "code", *_SUFFIXES):  # the sum first: half an entry is none
            stem.with_suffix(f".{suffix}").unlink(missing_ok=True)
        excess_bytes, evicted = excess_bytes - size, evicted + 1
    return evicted


def _entries(folder: Path) -> dict[Path, tuple[float, int]]:
    """Stem → (last use, bytes); forgotten temporary files are removed on the way.

    The bytes of a linked file are shared out among its names.
    """
    entries: dict[Path, tuple[float, int]] = {}
    for path in folder.glob("??/*"):
        with contextlib.suppress(OSError):  # another process may be sweeping too
            state = path.stat()
            if path.suffix == ".tmp":
                if time.time() - state.st_mtime > _STALE_TEMPORARY_S:
                    path.unlink(missing_ok=True)
                continue
            used, size = entries.get(path.with_suffix(""), (0.0, 0))
            entries[path.with_suffix("")] = (
                max(used, state.st_mtime),
                size + state.st_size // max(1, state.st_nlink),
            )
    return entries


def write_atomically(path: Path, content: bytes) -> None:
    """All of the content under that name, or nothing."""
    beside, descriptor = _open_beside(path)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        os.replace(beside, path)  # noqa: PTH105
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)  # noqa: PTH108
        raise


def _open_beside(path: Path) -> tuple[str, int]:
    """A new file in the same folder, which is made if need be; most times it is there."""
    beside = _name_beside(path)
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC
    try:
        return beside, os.open(beside, flags, 0o600)
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        return beside, os.open(beside, flags, 0o600)


def _name_beside(path: Path) -> str:
    return f"{path.parent}/{secrets.token_hex(8)}.tmp"


def _link(existing: Path, name: Path) -> bool:
    """Have `name` mean the same file, all at once; False where that cannot be."""
    name.parent.mkdir(parents=True, exist_ok=True)
    beside = _name_beside(name)
    try:
        os.link(existing, beside)
        os.replace(beside, name)  # noqa: PTH105
    except OSError:
        return False
    finally:
        with contextlib.suppress(OSError):  # replacing a name by itself leaves both
            os.unlink(beside)  # noqa: PTH108
    return True


def _digest(path: Path) -> str:
    try:
        return _digest_of(path.read_bytes())
    except FileNotFoundError:
        return "-"


def _digest_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
