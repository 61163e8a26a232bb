"""Many processes, one cache folder, and `kill -9` at any moment."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from coding_framework.cuda.compiler import CompilerSettings, CUDACompiler
from coding_framework.cuda.toolchain.cache import CompilationCache

SOURCES = tuple(
    f'{comment}\nextern "C" __global__ void k(float* y) {{ y[threadIdx.x] = {number}.5f; }}\n'
    for number in range(4)
    for comment in ("// one", "// another", "")
)
"""Twelve texts, four codes."""
VICTIM = (
    "import random, sys; sys.path.insert(0, sys.argv[2])\n"
    "from test_compiler_stress import SOURCES, compiler_in\n"
    "from pathlib import Path\n"
    "with compiler_in(Path(sys.argv[1])) as compiler:\n"
    "    print('ready', flush=True)\n"
    "    for round in range(int(sys.argv[3])):\n"
    "        for source in random.sample(SOURCES, len(SOURCES)):\n"
    "            assert compiler.compile(source).success\n"
    "            if random.random() < 0.3:\n"
    "                for path in Path(sys.argv[1]).glob('??/*.sum'): path.unlink(missing_ok=True)\n"
)
"""Forgets what is cached now and then, so that there is always something to write."""


def compiler_in(folder: Path) -> CUDACompiler:
    return CUDACompiler(CompilerSettings(architecture="sm_90", compiler="nvrtc", cache_dir=folder, workers=1))


def start_victim(folder: Path, rounds: int) -> subprocess.Popen[str]:
    arguments = [sys.executable, "-c", VICTIM, str(folder), str(Path(__file__).parent), str(rounds)]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)


def kill_soon(victims: list[subprocess.Popen[str]]) -> None:
    for victim in victims:
        assert victim.stdout is not None
        victim.stdout.readline()
    for victim in victims:
        time.sleep(random.uniform(0.1, 0.5))
        victim.kill()
    assert [victim.wait() for victim in victims] == [-signal.SIGKILL] * len(victims)


def test_killed_writers_leave_nothing_wrong_behind(tmp_path: Path) -> None:
    folder, clean = tmp_path / "shared", tmp_path / "clean"
    survivor = start_victim(folder, rounds=2)
    for _ in range(2):
        kill_soon([start_victim(folder, rounds=10**6) for _ in range(2)])
    assert survivor.wait(timeout=60) == 0
    with compiler_in(clean) as reference, compiler_in(folder) as fresh:
        expected = {source: reference.compile(source) for source in SOURCES}
        found = {source: fresh.compile(source) for source in SOURCES}
        assert {s: r.ptx for s, r in found.items()} == {s: r.ptx for s, r in expected.items()}
        assert {s: r.ptx_key for s, r in found.items()} == {s: r.ptx_key for s, r in expected.items()}
        assert len({result.ptx_key for result in found.values()}) == 4
        assert all(fresh.compile(source).from_cache for source in SOURCES)
    check_every_entry(folder)


def check_every_entry(folder: Path) -> None:
    """Whatever has a sum is whole: an entry reads back, a shared binary matches."""
    cache = CompilationCache(folder, limit_bytes=10**9)
    entries = {path.stem for path in folder.glob("??/*.json")}
    assert len(entries) == len(SOURCES)
    assert all(cache.get(key) is not None for key in entries)
    codes = [path.stem for path in folder.glob("??/*.code")]
    assert len(codes) == 4
    assert all(cache._read_shared(code) for code in codes if cache.path(code, "sum").exists())
