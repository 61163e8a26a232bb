"""Counters on cases counted by hand."""

from __future__ import annotations

import numpy as np
import pytest
from emulator_support import counters_of, launch, run

F32 = np.float32


def _strided(stride: int, offset: int = 0, threads: int = 64, blocks: int = 2) -> object:
    source = f"""extern "C" __global__ void k(const float* x, float* o) {{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  o[i] = x[i * {stride} + {offset}];
}}"""
    n = threads * blocks
    buffers = {"x": np.zeros(n * max(stride, 1) + offset + 1, F32), "o": np.zeros(n, F32)}
    return counters_of(source, launch("k", blocks, threads, "x", "o"), buffers)


@pytest.mark.parametrize(
    ("stride", "offset", "sectors_per_warp"),
    [(1, 0, 4), (1, 1, 5), (2, 0, 8), (8, 0, 32), (32, 0, 32), (0, 0, 1)],
)
def test_sectors_of_strided_loads(stride: int, offset: int, sectors_per_warp: int) -> None:
    counters = _strided(stride, offset)
    assert counters.global_requests == 8  # type: ignore[attr-defined]
    assert counters.global_load_sectors == 4 * sectors_per_warp  # type: ignore[attr-defined]
    assert counters.global_store_sectors == 16  # type: ignore[attr-defined]
    assert counters.global_useful_bytes == 2 * 128 * 4  # type: ignore[attr-defined]


def test_unique_sectors_count_reuse_once() -> None:
    counters = _strided(0)
    assert counters.global_sectors == 4 + 16  # type: ignore[attr-defined]
    assert counters.unique_sectors == 1 + 16  # type: ignore[attr-defined]


def test_scattered_and_vector_accesses() -> None:
    source = """extern "C" __global__ void k(const float4* x, const int* p, float4* o) {
  o[threadIdx.x] = x[p[threadIdx.x]];
}"""
    order = np.random.default_rng(1).permutation(32).astype(np.int32)
    buffers = {"x": np.zeros(128, F32), "p": order, "o": np.zeros(128, F32)}
    counters = counters_of(source, launch("k", 1, 32, "x", "p", "o"), buffers)
    assert counters.global_load_sectors == 16 + 4
    assert counters.global_store_sectors == 16
    assert counters.global_useful_bytes == 32 * (16 + 16 + 4)


def test_instructions_of_a_divergent_branch() -> None:
    source = """extern "C" __global__ void k(int* o, int n) {
  int t = threadIdx.x;
  if (t < n) o[t] = t;
}"""
    whole = counters_of(source, launch("k", 1, 64, "o", 64), {"o": np.zeros(64, np.int32)})
    half = counters_of(source, launch("k", 1, 64, "o", 16), {"o": np.zeros(64, np.int32)})
    assert whole.warp_instructions * 32 == whole.lane_instructions
    assert sum(whole.by_class.values()) == whole.warp_instructions
    assert sum(half.by_class.values()) == half.warp_instructions
    body = whole.by_class["global"] / 2
    assert half.by_class["global"] == body == 1
    assert half.global_requests == 1
    assert half.lane_instructions < half.warp_instructions * 32
    assert whole.max_warp_instructions == whole.warp_instructions / 2
    assert half.max_warp_instructions >= whole.max_warp_instructions


def test_a_run_that_nobody_times_gives_the_same_answer_without_counting_traffic() -> None:
    source = """extern "C" __global__ void k(int* o) {
  __shared__ int s[64];
  s[threadIdx.x] = threadIdx.x;
  __syncthreads();
  atomicAdd(o + threadIdx.x / 2, s[63 - threadIdx.x]);
}"""
    runs = [
        run(source, launch("k", 2, 64, "o"), buffers={"o": np.zeros(64, np.int32)}, counts_work=counts)
        for counts in (True, False)
    ]
    np.testing.assert_array_equal(runs[0].buffers["o"], runs[1].buffers["o"])
    counted, plain = (outcome.counters[0] for outcome in runs)
    assert counted.global_sectors > plain.global_sectors == plain.shared_passes == plain.path_clocks == 0
    assert counted.warp_instructions == plain.warp_instructions


def test_the_longest_warp_is_the_critical_path() -> None:
    source = """extern "C" __global__ void k(float* o, const int* trips) {
  float v = 0;
  for (int i = 0; i < trips[blockIdx.x]; i++) v = v * 0.5f + 1;
  o[blockIdx.x * 32 + threadIdx.x] = v;
}"""
    buffers = {"o": np.zeros(128, F32), "t": np.array([1, 1, 40, 1], np.int32)}
    uneven = counters_of(source, launch("k", 4, 32, "o", "t"), buffers)
    buffers["t"][:] = 40
    even = counters_of(source, launch("k", 4, 32, "o", "t"), buffers)
    assert uneven.max_warp_instructions == even.max_warp_instructions
    assert uneven.warp_instructions < even.warp_instructions
    assert even.max_warp_instructions * 4 == even.warp_instructions


SHARED = """extern "C" __global__ void k(float* o) {
  __shared__ float s[2048];
  int t = threadIdx.x;
  s[t * STRIDE] = t;
  __syncthreads();
  o[blockIdx.x * 64 + t] = s[t * STRIDE];
}"""


@pytest.mark.parametrize(("stride", "passes"), [(1, 1), (2, 2), (16, 16), (32, 32), (31, 1)])
def test_bank_conflicts_of_a_stride(stride: int, passes: int) -> None:
    counters = counters_of(
        SHARED.replace("STRIDE", str(stride)), launch("k", 3, 64, "o"), {"o": np.zeros(192, F32)}
    )
    assert counters.shared_accesses == 3 * 2 * 2
    assert counters.shared_passes == 12 * passes
    assert counters.static_shared_bytes == 8192
    assert counters.by_class["barrier"] == 6


def test_a_broadcast_and_a_wide_access_have_no_conflicts() -> None:
    source = """extern "C" __global__ void k(float* o) {
  __shared__ float4 s[32];
  s[threadIdx.x] = make_float4(1, 2, 3, threadIdx.x);
  __syncthreads();
  float4 v = s[31 - threadIdx.x];
  o[threadIdx.x] = s[3].w + v.x + v.y + v.z + v.w;
}"""
    counters = counters_of(source, launch("k", 1, 32, "o"), {"o": np.zeros(32, F32)})
    assert counters.shared_accesses == 4 + 4 + 1
    assert counters.shared_passes == counters.shared_accesses


def test_lanes_that_are_off_touch_nothing() -> None:
    source = """extern "C" __global__ void k(const float* x, float* o) {
  __shared__ float s[64];
  int t = threadIdx.x;
  s[t] = t;
  __syncthreads();
  if (t % 32 < 8) o[t] = x[t * 8] + s[t];
}"""
    counters = counters_of(
        source, launch("k", 1, 64, "x", "o"), {"x": np.zeros(512, F32), "o": np.zeros(64, F32)}
    )
    assert counters.global_load_sectors == 16
    assert counters.global_store_sectors == 2
    assert counters.global_useful_bytes == 2 * 16 * 4
    assert counters.shared_accesses == 4


def test_counts_do_not_depend_on_how_lanes_are_grouped() -> None:
    source = """extern "C" __global__ void k(const float* x, float* o, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  if (i % 7 == 0) v += x[n - 1 - i];
  o[i] = v;
}"""
    n = 20_001
    large = counters_of(
        source, launch("k", 157, 128, "x", "o", n), {"x": np.zeros(n, F32), "o": np.zeros(n, F32)}
    )
    parts = [
        counters_of(
            source, launch("k", 157, 128, "x", "o", m), {"x": np.zeros(n, F32), "o": np.zeros(n, F32)}
        )
        for m in (n, n - 1)
    ]
    assert large == parts[0]
    assert parts[0].global_useful_bytes - parts[1].global_useful_bytes == 4 + 4
    assert large.global_requests == 626 + 625 + 626, (
        "the last warp holds element 20,000 alone, no multiple of 7"
    )


def test_atomics_shuffles_and_two_launches_are_counted() -> None:
    source = """extern "C" __global__ void k(int* o) {
  int v = __shfl_xor_sync(~0u, (int)threadIdx.x, 1);
  atomicAdd(o + v % 2, v);
}"""
    outcome = run(
        source, launch("k", 2, 64, "o"), launch("k", 1, 32, "o"), buffers={"o": np.zeros(2, np.int32)}
    )
    first, second = outcome.counters
    assert (first.atomics, second.atomics) == (4, 1)
    assert (first.by_class["shuffle"], first.by_class["atomic"]) == (4, 4)
    assert second.grid == (1, 1, 1)
    assert first.unique_sectors == 1


def test_odd_blocks_count_whole_warps() -> None:
    counters = _strided(1, threads=40, blocks=3)
    assert counters.global_requests == 2 * 3 * 2  # type: ignore[attr-defined]
    assert counters.global_load_sectors == 3 * (4 + 1)  # type: ignore[attr-defined]
