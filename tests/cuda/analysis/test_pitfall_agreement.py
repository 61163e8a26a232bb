"""The detector against the emulator, which runs what the real compiler made of the same source.

Bank conflicts, sectors and races are predicted from the syntax alone and then counted; the two must
agree on every kernel here, in both directions.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest

from coding_framework.cuda.analysis.pitfalls import CUDAPitfallDetector
from coding_framework.cuda.compiler import CUDACompiler
from coding_framework.cuda.executors.base import (
    BufferArgument,
    ExecutionOutcome,
    ExecutionRequest,
    FaultKind,
    ResolvedLaunch,
)
from coding_framework.cuda.executors.emulator.execute import execute

SIZE = 4096
"""Elements of both buffers, and the value of `n` times the room that the largest stride needs."""


@pytest.fixture(scope="module")
def compiler() -> Iterator[CUDACompiler]:
    with CUDACompiler() as made:
        yield made


def run(
    compiler: CUDACompiler, body: str, block: tuple[int, int], n: int, device_code: str = ""
) -> tuple[ExecutionOutcome, dict[str, str]]:
    """What the emulator saw, and the severity of each rule the detector applied."""
    launch = f"// launch: k grid=(ceil_div(n, 64), 2) block=({block[0]}, {block[1]})\n"
    head = 'extern "C" __global__ void k(const float* __restrict__ x, float* __restrict__ y, int n) {\n'
    source = f"{launch}{device_code}{head}{body}\n}}\n"
    compiled = compiler.compile(source)
    assert compiled.ptx is not None, compiled.errors
    buffers = {"x": np.ones(SIZE * 64, np.float32), "y": np.zeros(SIZE * 64, np.float32)}
    resolved = ResolvedLaunch("k", (2, 2, 1), (*block, 1), 0, (BufferArgument("x"), BufferArgument("y"), n))
    outcome = execute(ExecutionRequest(compiled.ptx, (resolved,), buffers))
    found = {f.rule: f.severity for f in CUDAPitfallDetector().detect(source)}
    return outcome, found


BLOCKS = [(256, 1), (32, 8), (16, 16), (8, 8)]
SHARED_INDICES = [
    "t", "t * 2", "t * 3", "t * 4", "t * 32", "t * 33", "t ^ 5", "(t % 32) * 32 + t / 32", "t / 2", "t / 32",
    "threadIdx.y", "threadIdx.x * 32 + threadIdx.y", "threadIdx.x * 33 + threadIdx.y", "t % 16 * 16",
    "threadIdx.y * 64 + threadIdx.x", "255 - t", "(t & 7) * 8", "threadIdx.x % 32 * 66 + threadIdx.y",
]  # fmt: skip


def test_bank_conflicts_are_predicted_exactly_where_the_emulator_counts_them(compiler: CUDACompiler) -> None:
    agree, wrong = 0, []
    for index, block in product(SHARED_INDICES, BLOCKS):
        body = f"""__shared__ float s[8448];
int t = threadIdx.y * blockDim.x + threadIdx.x;
for (int j = t; j < 8448; j += blockDim.x * blockDim.y) s[j] = x[j];
__syncthreads();
y[(blockIdx.y * 2 + blockIdx.x) * 1024 + t + n * 0] = s[{index}];"""
        outcome, found = run(compiler, body, block, SIZE)
        (counters,) = outcome.counters
        conflicts = counters.shared_passes > counters.shared_accesses
        if conflicts == ("bank-conflict" in found):
            agree += 1
        else:
            wrong.append((index, block, conflicts))
    assert not wrong
    assert agree == len(SHARED_INDICES) * len(BLOCKS)


GLOBAL_INDICES = [
    "i", "i + 3", "i * 2", "i * 4", "i * 8", "i * n", "i % 4 * 8", "r * n + c", "c * n + r", "c * n", "r * n",
    "n - 1 - i", "i ^ 16", "i / 4", "blockIdx.x * n + t", "t * n + blockIdx.x", "(t % 16) * n + t / 16",
]  # fmt: skip


def test_spread_loads_are_those_of_more_than_eight_sectors_and_twelve_are_never_missed(
    compiler: CUDACompiler,
) -> None:
    """Four are ideal; between eight and twelve lie strides of two and offsets, which may go either way."""
    wrong = []
    for index, block in product(GLOBAL_INDICES, BLOCKS):
        body = f"""int t = threadIdx.y * blockDim.x + threadIdx.x;
int i = blockIdx.x * blockDim.x * blockDim.y + t;
int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
if (i < n) y[t] = x[{index}];"""
        outcome, found = run(compiler, body, block, 509)
        (counters,) = outcome.counters
        sectors = counters.global_load_sectors / (counters.global_requests / 2)
        warned = "uncoalesced-access" in found
        if (warned and sectors <= 8) or (sectors >= 12 and not warned):
            wrong.append((index, block, sectors))
    assert not wrong


RACY_PARTS = {
    "own": "v += s[t];",
    "next": "v += s[(t + 1) % 256];",
    "far": "v += s[(t + 32) % 256];",
    "swap": "v += s[t ^ 64];",
    "first": "v += s[0];",
    "leader writes": "if (t == 0) s[0] = v;",
    "leader of each warp writes": "if (t % 32 == 0) s[t / 32] = v;",
    "barrier": "__syncthreads();",
    "write own": "s[t] = v;",
    "tree": "for (int h = 128; h > 0; h /= 2) { if (t < h) s[t] += s[t + h]; __syncthreads(); }",
    "tree without barrier": "for (int h = 128; h > 0; h /= 2) { if (t < h) s[t] += s[t + h]; }",
    "rounds": "for (int q = 0; q < n; ++q) { s[t] = v; __syncthreads(); v += s[255 - t]; }",
    "safe rounds": (
        "for (int q = 0; q < n; ++q) { s[t] = v; __syncthreads(); v += s[255 - t]; __syncthreads(); }"
    ),
    "helper": "v = exchange(v, s);",
}
HELPER = """__device__ float exchange(float v, float* s) {
  __syncthreads(); s[threadIdx.x] = v; __syncthreads(); return s[(threadIdx.x + 64) % 256];
}
"""


def test_races_are_predicted_where_the_emulator_finds_them(compiler: CUDACompiler) -> None:
    """Random programs of three parts: precision and recall over all of them are one."""
    rng = np.random.default_rng(7)
    names = list(RACY_PARTS)
    counts = {(True, True): 0, (True, False): 0, (False, True): 0, (False, False): 0}
    wrong = []
    for _ in range(150):
        chosen = [names[at] for at in rng.integers(len(names), size=3)]
        parts = "\n".join(RACY_PARTS[name] for name in chosen)
        body = f"""__shared__ float s[256];
int t = threadIdx.x; float v = x[t] + t;
s[t] = v;
{parts}
y[blockIdx.x * 256 + t + blockIdx.y * 512 + 0 * n] = v + s[t];"""
        outcome, found = run(compiler, body, (256, 1), 3, HELPER)
        races = outcome.fault is not None and outcome.fault.kind is FaultKind.DATA_RACE
        assert races or outcome.fault is None
        claims = "missing-barrier" in found
        counts[races, claims] += 1
        if races != claims:
            wrong.append((chosen, outcome.fault))
    assert not wrong
    assert counts[True, True] > 50
    assert counts[False, False] > 15
