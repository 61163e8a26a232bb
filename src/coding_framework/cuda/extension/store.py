"""Finished builds on disk, addressed by everything that went into them.

An entry is `<key>.so` (for successes) and `<key>.json`, which names the digest of the other and is
written last: an entry without a matching one does not exist, so a killed writer cannot make a wrong
one. When the folder outgrows its limit, those unread for longest go first.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from pathlib import Path

from pydantic import ValidationError

from coding_framework.cuda.extension.records import ExtensionBuild
from coding_framework.cuda.toolchain.cache import write_atomically
from coding_framework.errors import StorageError
from coding_framework.records.base import Record

_SAFE_AGE_S = 60.0
"""Entries used this recently stay: someone may be about to load them."""


class _Entry(Record):
    build: ExtensionBuild
    digest: str


class ExtensionStore:
    """A folder of builds. Safe under threads, processes and `kill -9`."""

    def __init__(self, folder: Path, *, limit_bytes: int) -> None:
        self._folder = folder
        self._limit_bytes = limit_bytes

    def path(self, key: str, suffix: str) -> Path:
        return self._folder / key[:2] / f"{key}.{suffix}"

    @property
    def runtime_dir(self) -> Path:
        """Where the compiled part of the light headers lies: one small file a version, never evicted."""
        return self._folder / "runtime"

    def get(self, key: str) -> ExtensionBuild | None:
        """The stored build, marked `from_cache`; None when there is none, or a torn one."""
        try:
            entry = _Entry.model_validate_json(self.path(key, "json").read_bytes())
            if entry.digest != self._digest(key, entry.build):
                return None
            os.utime(self.path(key, "json"))
        except (OSError, ValidationError):
            return None
        where = self.path(key, "so") if entry.build.success else None
        return entry.build.model_copy(update={"from_cache": True, "shared_object": where})

    def put(self, key: str, build: ExtensionBuild, shared_object: bytes) -> None:
        """Store a build; a success is at `path(key, "so")`."""
        try:
            if build.success:
                write_atomically(self.path(key, "so"), shared_object)
            entry = _Entry(build=build, digest=hashlib.sha256(shared_object).hexdigest())
            write_atomically(self.path(key, "json"), entry.model_dump_json().encode())
        except OSError as error:
            raise StorageError(
                f"the build cache {self._folder} cannot be written ({error.strerror or error}): "
                f"free some space, or name another folder in CODING_FRAMEWORK_CACHE"
            ) from error
        self._stay_within_limit()

    def _digest(self, key: str, build: ExtensionBuild) -> str:
        content = self.path(key, "so").read_bytes() if build.success else b""
        return hashlib.sha256(content).hexdigest()

    def _stay_within_limit(self) -> None:
        entries = sorted(self._entries())
        total = sum(size for _, size, _ in entries)
        for used, size, record in entries:
            if total <= self._limit_bytes or time.time() - used < _SAFE_AGE_S:
                return
            record.unlink(missing_ok=True)  # the record first: half an entry is none
            record.with_suffix(".so").unlink(missing_ok=True)
            total -= size

    def _entries(self) -> list[tuple[float, int, Path]]:
        found = []
        for record in self._folder.glob("??/*.json"):
            with contextlib.suppress(OSError):  # another process may be sweeping too
                state, binary = record.stat(), record.with_suffix(".so")
                size = state.st_size + (binary.stat().st_size if binary.is_file() else 0)
                found.append((state.st_mtime, size, record))
        return found
