"""The cache keeps whole entries only, shares them between processes and stays within its limit."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from coding_framework.cuda.toolchain import cache as cache_module
from coding_framework.cuda.toolchain.cache import CompilationCache, write_atomically
from coding_framework.errors import StorageError
from coding_framework.records.compilation import CompilationResult, Diagnostic

LIMIT = 10**8


def success(cache: CompilationCache, key: str, ptx: str = "ptx") -> CompilationResult:
    return CompilationResult(
        success=True,
        compiler="nvrtc",
        toolkit="13.0",
        architecture="sm_90",
        kernel_names=("k",),
        binary_path=cache.path(key, "cubin"),
        ptx=ptx,
        duration_s=0.1,
    )


FAILURE = CompilationResult(
    success=False,
    compiler="nvrtc",
    toolkit="13.0",
    architecture="sm_90",
    diagnostics=(Diagnostic(severity="error", message="bad"),),
    duration_s=0.1,
)


@pytest.fixture
def cache(tmp_path: Path) -> CompilationCache:
    return CompilationCache(tmp_path / "compile", limit_bytes=LIMIT)


def test_what_was_put_is_found_again(cache: CompilationCache) -> None:
    assert cache.get("abc") is None
    stored = success(cache, "abc")
    cache.put("abc", stored, "source", b"binary")
    found = cache.get("abc")
    assert found == stored.model_copy(update={"from_cache": True})
    assert found is not None
    assert found.binary_path is not None
    assert found.binary_path.read_bytes() == b"binary"
    assert found.binary_path.with_suffix(".ptx").read_text() == "ptx"
    assert (cache.stats.hits, cache.stats.misses, cache.stats.stored) == (1, 1, 1)


def test_the_json_beside_the_binary_is_the_record_itself(cache: CompilationCache) -> None:
    stored = success(cache, "abc")
    cache.put("abc", stored, "source", b"binary")
    assert CompilationResult.model_validate_json(cache.path("abc", "json").read_text()) == stored


def test_failures_are_kept_too(cache: CompilationCache) -> None:
    cache.put("bad", FAILURE, "source", b"")
    found = cache.get("bad")
    assert found is not None
    assert not found.success
    assert found.from_cache


@pytest.mark.parametrize("suffix", ["cubin", "ptx", "json", "sum"])
@pytest.mark.parametrize("damage", ["missing", "cut", "empty"])
def test_a_torn_entry_is_ignored_and_rebuilt(cache: CompilationCache, suffix: str, damage: str) -> None:
    cache.put("abc", success(cache, "abc"), "source", b"binary")
    path = cache.path("abc", suffix)
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:2] if damage == "cut" else b"")
    assert cache.get("abc") is None
    cache.put("abc", success(cache, "abc"), "source", b"binary")
    assert cache.get("abc") is not None


def test_a_moved_folder_still_answers_with_its_own_paths(cache: CompilationCache, tmp_path: Path) -> None:
    cache.put("abc", success(cache, "abc"), "source", b"binary")
    cache.folder.rename(tmp_path / "moved")
    found = CompilationCache(tmp_path / "moved", limit_bytes=LIMIT).get("abc")
    assert found is not None
    assert found.binary_path == tmp_path / "moved" / "ab" / "abc.cubin"


def test_the_entries_unread_for_longest_go_first(tmp_path: Path) -> None:
    cache = CompilationCache(tmp_path, limit_bytes=50_000)
    old = time.time() - 1000
    for number in range(6):
        key = f"{number}0key"
        cache.put(key, success(cache, key), "source", bytes(9_000))
        for suffix in ("cubin", "ptx", "cu", "json", "sum"):
            path = cache.path(key, suffix)
            if path.exists():
                os.utime(path, (old + number, old + number))
        if number == 3:
            assert cache.get("00key") is not None  # reading renews it
    assert cache.get("10key") is None
    assert cache.get("00key") is not None
    assert cache.stats.evicted >= 1
    total = sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file())
    assert total <= 50_000


def test_fresh_entries_are_never_evicted(tmp_path: Path) -> None:
    cache = CompilationCache(tmp_path, limit_bytes=10)
    for key in ("aakey", "bbkey"):
        cache.put(key, success(cache, key), "source", bytes(1000))
    assert cache.get("aakey") is not None
    assert cache.stats.evicted == 0


def test_forgotten_temporary_files_are_swept(cache: CompilationCache) -> None:
    cache.path("abc", "x").parent.mkdir(parents=True)
    forgotten, recent = cache.path("abc", "x").with_name("a.tmp"), cache.path("abc", "x").with_name("b.tmp")
    forgotten.write_bytes(b"1")
    recent.write_bytes(b"1")
    os.utime(forgotten, (0, 0))
    cache.put("abd", FAILURE, "source", b"")
    assert not forgotten.exists()
    assert recent.exists()


def test_a_folder_that_cannot_be_written_is_our_fault_and_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = CompilationCache(tmp_path / "file" / "compile", limit_bytes=LIMIT)
    with pytest.raises(StorageError, match="CODING_FRAMEWORK_CACHE"):
        cache.put("abc", FAILURE, "source", b"")


def test_a_full_disk_leaves_no_partial_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(source: str, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache_module.os, "replace", full)
    cache = CompilationCache(tmp_path, limit_bytes=LIMIT)
    with pytest.raises(StorageError, match="No space left on device"):
        cache.put("abc", FAILURE, "source", b"")
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_really_full_disk_raises_and_the_cache_stays_usable(tmp_path: Path) -> None:
    code = (
        "import resource, signal, sys, pathlib; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)); "
        "from coding_framework.cuda.toolchain.cache import write_atomically; "
        "write_atomically(pathlib.Path(sys.argv[1]), bytes(5000))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "x")], capture_output=True, text=True)
    assert "File too large" in done.stderr
    assert list(tmp_path.iterdir()) == []


WRITER = (
    "import sys; from pathlib import Path; sys.path.insert(0, sys.argv[2]); "
    "from test_compile_cache import success, LIMIT; "
    "from coding_framework.cuda.toolchain.cache import CompilationCache; "
    "cache = CompilationCache(Path(sys.argv[1]), limit_bytes=LIMIT); print('ready', flush=True)\n"
    "for n in range(int(sys.argv[3])): "
    "cache.put('abc', success(cache, 'abc', 'ptx' * 1000), 'source', bytes(100000))"
)


def start_writer(folder: Path, writes: int) -> subprocess.Popen[str]:
    arguments = [sys.executable, "-c", WRITER, str(folder), str(Path(__file__).parent), str(writes)]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)


def test_many_processes_may_write_the_same_entry(tmp_path: Path) -> None:
    writers = [start_writer(tmp_path, 60) for _ in range(2)]
    cache = CompilationCache(tmp_path, limit_bytes=LIMIT)
    while any(writer.poll() is None for writer in writers):
        found = cache.get("abc")
        assert found is None or found.ptx == "ptx" * 1000
    assert [writer.returncode for writer in writers] == [0, 0]
    assert cache.get("abc") is not None


def test_a_killed_writer_leaves_a_whole_entry_or_none(tmp_path: Path) -> None:
    cache = CompilationCache(tmp_path, limit_bytes=LIMIT)
    for pause_s in (0.001, 0.003, 0.01):
        writer = start_writer(tmp_path, 100_000)
        assert writer.stdout is not None
        writer.stdout.readline()
        time.sleep(pause_s)
        writer.kill()
        writer.wait()
        found = cache.get("abc")
        assert found is None or (found.ptx == "ptx" * 1000 and found.binary_path is not None)
    cache.put("abc", success(cache, "abc"), "source", b"binary")
    assert cache.get("abc") is not None


def test_writing_is_all_or_nothing(tmp_path: Path) -> None:
    write_atomically(tmp_path / "new" / "file", b"content")
    assert (tmp_path / "new" / "file").read_bytes() == b"content"
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["file"]
