"""The cache's second level: one binary for all sources with the same code."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from coding_framework.cuda.toolchain import cache as cache_module
from coding_framework.cuda.toolchain.cache import CompilationCache
from coding_framework.records.compilation import CompilationResult


@pytest.fixture
def cache(tmp_path: Path) -> CompilationCache:
    return CompilationCache(tmp_path, limit_bytes=10**8)


def put(cache: CompilationCache, key: str, code: str = "cafe", cubin: bytes = b"binary") -> CompilationResult:
    result = CompilationResult(
        success=True,
        compiler="nvrtc",
        toolkit="13.0",
        architecture="sm_90",
        kernel_names=("k",),
        binary_path=cache.path(key, "cubin"),
        ptx=f"ptx of {key}",
        ptx_key=code,
        duration_s=0.1,
    )
    cache.put(key, result, f"source of {key}", cubin)
    return result


def test_two_sources_with_one_code_have_one_file_and_their_own_results(cache: CompilationCache) -> None:
    first, second = put(cache, "aa1"), put(cache, "bb2", cubin=b"other line info")
    files = [cache.path(key, "cubin") for key in ("aa1", "bb2")]
    assert files[0].stat().st_ino == files[1].stat().st_ino
    assert cache.get("aa1") == first.model_copy(update={"from_cache": True})
    assert cache.get("bb2") == second.model_copy(update={"from_cache": True})
    assert files[1].read_bytes() == b"binary"
    assert cache.stats.shared == 1


def test_another_code_is_another_file(cache: CompilationCache) -> None:
    put(cache, "aa1", code="cafe")
    put(cache, "bb2", code="beef", cubin=b"other")
    assert cache.path("bb2", "cubin").read_bytes() == b"other"
    assert cache.stats.shared == 0


def test_a_damaged_shared_binary_is_replaced_and_never_handed_on(cache: CompilationCache) -> None:
    put(cache, "aa1")
    cache.path("aa1", "cubin").write_bytes(b"dam")  # in place: every name sees it
    assert cache.get("aa1") is None
    put(cache, "bb2")
    put(cache, "cc3")
    assert cache.path("bb2", "cubin").read_bytes() == b"binary"
    assert cache.path("cc3", "cubin").stat().st_ino == cache.path("bb2", "cubin").stat().st_ino
    assert cache.get("aa1") is None


def test_a_file_system_without_links_gets_copies(
    cache: CompilationCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(existing: Path, name: Path) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(cache_module.os, "link", no_links)
    put(cache, "aa1")
    put(cache, "bb2")
    assert cache.get("aa1") is not None
    assert cache.get("bb2") is not None
    assert cache.stats.shared == 0
    assert not list(cache.folder.rglob("*.tmp"))


def test_the_limit_covers_shared_binaries_and_counts_each_once(tmp_path: Path) -> None:
    cache = CompilationCache(tmp_path, limit_bytes=60_000)
    old = time.time() - 1000
    for number in range(4):  # one binary under four names: far below the limit
        put(cache, f"{number}0key", cubin=bytes(30_000))
    assert cache.stats.evicted == 0
    for path in tmp_path.rglob("*"):
        if path.is_file():
            os.utime(path, (old, old))
    put(cache, "90key", code="beef", cubin=bytes(40_000))
    assert cache.stats.evicted > 0
    assert cache.get("90key") is not None
    assert not cache.path("cafe", "code").exists() or cache.path("cafe", "code").stat().st_nlink > 1
    assert sum(path.stat().st_size // path.stat().st_nlink for path in tmp_path.rglob("*.*")) <= 60_000


def test_what_was_used_lately_is_kept_when_its_code_is_evicted(cache: CompilationCache) -> None:
    put(cache, "aa1")
    cache.path("cafe", "code").unlink()
    cache.path("cafe", "sum").unlink()
    found = cache.get("aa1")
    assert found is not None
    assert found.binary_path is not None
    assert found.binary_path.read_bytes() == b"binary"
