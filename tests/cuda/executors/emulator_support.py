"""Compiles real CUDA with NVRTC and runs it on the emulator; shared by the emulator's tests."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import nvidia
from cuda.bindings import nvrtc

from coding_framework.cuda.executors.base import (
    BufferArgument,
    ExecutionOutcome,
    ExecutionRequest,
    LaunchCounters,
    ResolvedLaunch,
)
from coding_framework.cuda.executors.emulator.execute import execute


def _include_folder() -> Path:
    for root in nvidia.__path__:
        folder = Path(root) / "cu13" / "include"
        if folder.is_dir():
            return folder
    raise RuntimeError("the CUDA headers are not installed")


@cache
def compile_ptx(source: str) -> str:
    include = _include_folder()
    options = [
        "--gpu-architecture=compute_90",
        "-lineinfo",
        "--std=c++17",
        f"-I{include}",
        f"-I{include / 'cccl'}",
    ]
    _, program = nvrtc.nvrtcCreateProgram(source.encode(), b"candidate.cu", 0, [], [])
    (status,) = nvrtc.nvrtcCompileProgram(program, len(options), [o.encode() for o in options])
    _, size = nvrtc.nvrtcGetProgramLogSize(program)
    log = b" " * size
    nvrtc.nvrtcGetProgramLog(program, log)
    assert status == nvrtc.nvrtcResult.NVRTC_SUCCESS, log.decode()
    _, size = nvrtc.nvrtcGetPTXSize(program)
    text = b" " * size
    nvrtc.nvrtcGetPTX(program, text)
    return text.decode().rstrip("\0")


def triple(extent: int | tuple[int, ...]) -> tuple[int, int, int]:
    extents = (extent,) if isinstance(extent, int) else extent
    x, y, z = (*extents, 1, 1, 1)[:3]
    return x, y, z


def launch(
    kernel: str,
    grid: int | tuple[int, ...],
    block: int | tuple[int, ...],
    *arguments: str | int,
    shared: int = 0,
) -> ResolvedLaunch:
    """A launch in which a string argument names a buffer."""
    resolved = tuple(BufferArgument(a) if isinstance(a, str) else a for a in arguments)
    return ResolvedLaunch(kernel, triple(grid), triple(block), shared, resolved)


def run(
    source: str, *launches: ResolvedLaunch, buffers: dict[str, np.ndarray[Any, Any]], **options: Any
) -> ExecutionOutcome:
    """Compile if it is CUDA, run, and hand back the outcome whatever it is."""
    ptx = source if source.lstrip().startswith((".version", "//\n// Generated")) else compile_ptx(source)
    return execute(ExecutionRequest(ptx, launches, buffers, **options))


def run_ok(
    source: str, *launches: ResolvedLaunch, buffers: dict[str, np.ndarray[Any, Any]], **options: Any
) -> dict[str, np.ndarray[Any, Any]]:
    """The buffers of a run that must not fault."""
    outcome = run(source, *launches, buffers=buffers, **options)
    assert outcome.fault is None, outcome.fault
    return outcome.buffers


def counters_of(
    source: str, a_launch: ResolvedLaunch, buffers: dict[str, np.ndarray[Any, Any]]
) -> LaunchCounters:
    outcome = run(source, a_launch, buffers=buffers)
    assert outcome.fault is None, outcome.fault
    return outcome.counters[0]


def map_kernel(expression: str, x: np.ndarray[Any, Any], prelude: str = "") -> np.ndarray[Any, Any]:
    """Apply a CUDA expression of `x` to float32 elements."""
    source = (
        prelude + 'extern "C" __global__ void k(const float* a, float* o, int n) {\n'
        "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        f"  if (i < n) {{ float x = a[i]; o[i] = {expression}; }}\n}}\n"
    )
    out = np.full(x.size, np.nan, dtype=np.float32)
    result = run_ok(source, launch("k", -(-x.size // 128), 128, "a", "o", x.size), buffers={"a": x, "o": out})
    return result["o"]
