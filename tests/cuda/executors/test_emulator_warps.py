"""Shuffles, votes, matches, atomics, barriers and special registers."""

from __future__ import annotations

import numpy as np
import pytest
from emulator_support import launch, run, run_ok

RANDOM = np.random.default_rng(5)


def _ints(source_body: str, n: int = 64, block: object = 64, **extra: np.ndarray) -> np.ndarray:
    source = f'extern "C" __global__ void k(const int* x, int* o) {{ int t = threadIdx.x; {source_body} }}'
    x = np.arange(n, dtype=np.int32) * 10
    out = run_ok(source, launch("k", 1, block, "x", "o"), buffers={"x": x, "o": np.full(n, -1, np.int32)})  # type: ignore[arg-type]
    return out["o"]


LANES = np.arange(64)
VALUES = LANES * 10


@pytest.mark.parametrize(
    ("call", "source"),
    [
        ("__shfl_sync(~0u, x[t], 5)", LANES // 32 * 32 + 5),
        ("__shfl_sync(~0u, x[t], t / 2)", LANES // 32 * 32 + (LANES // 2) % 32),
        ("__shfl_xor_sync(~0u, x[t], 9)", LANES ^ 9),
        ("__shfl_up_sync(~0u, x[t], 3)", np.where(LANES % 32 >= 3, LANES - 3, LANES)),
        ("__shfl_down_sync(~0u, x[t], 3)", np.where(LANES % 32 < 29, LANES + 3, LANES)),
        ("__shfl_up_sync(~0u, x[t], 3, 8)", np.where(LANES % 8 >= 3, LANES - 3, LANES)),
        ("__shfl_down_sync(~0u, x[t], 3, 8)", np.where(LANES % 8 < 5, LANES + 3, LANES)),
        ("__shfl_sync(~0u, x[t], 9, 8)", LANES // 8 * 8 + 1),
        ("__shfl_xor_sync(~0u, 7 * 10, 1)", np.full(64, 7)),
    ],
)
def test_a_shuffle_reads_the_right_lane(call: str, source: np.ndarray) -> None:
    np.testing.assert_array_equal(_ints(f"o[t] = {call};"), VALUES[source])


def test_a_64_bit_shuffle() -> None:
    source = """extern "C" __global__ void k(double* o) {
  o[threadIdx.x] = __shfl_xor_sync(~0u, (double)threadIdx.x * 1.25, 1);
}"""
    out = run_ok(source, launch("k", 1, 32, "o"), buffers={"o": np.zeros(32)})
    np.testing.assert_array_equal(out["o"], (np.arange(32) ^ 1) * 1.25)


def test_votes_within_a_partial_mask() -> None:
    got = _ints(
        "if (t % 32 < 16) o[t] = __ballot_sync(0xffff, t % 3 == 0) + (__any_sync(0xffff, t == 40) << 20);"
    )
    ballots = [sum(1 << lane for lane in range(16) if (32 * w + lane) % 3 == 0) for w in range(2)]
    expected = np.where(LANES % 32 < 16, np.repeat(ballots, 32) + (LANES // 32 << 20), -1)
    np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(
        _ints("o[t] = __all_sync(~0u, t < 32) * 2 + __uni_sync(~0u, t < 40);"), np.where(LANES < 32, 3, 0)
    )


def test_matches_and_reductions() -> None:
    got = _ints("o[t] = __match_any_sync(~0u, t % 4);")
    masks = [sum(1 << lane for lane in range(32) if lane % 4 == r) for r in range(4)]
    np.testing.assert_array_equal(got.view(np.uint32), np.array(masks, np.uint32)[LANES % 4])
    got = _ints("int p; unsigned m = __match_all_sync(~0u, t / 48, &p); o[t] = p ? 1 : m;")
    np.testing.assert_array_equal(got, np.where(LANES < 32, 1, 0))
    for name, function in (("add", np.sum), ("min", np.min), ("max", np.max)):
        got = _ints(f"o[t] = __reduce_{name}_sync(~0u, x[t] - 300);")
        np.testing.assert_array_equal(got, np.repeat(function((VALUES - 300).reshape(2, 32), axis=1), 32))
    for name, function in (("and", np.bitwise_and), ("or", np.bitwise_or), ("xor", np.bitwise_xor)):
        got = _ints(f"o[t] = __reduce_{name}_sync(~0u, (unsigned)x[t] + 3);")
        np.testing.assert_array_equal(
            got, np.repeat(function.reduce((VALUES + 3).reshape(2, 32), axis=1), 32)
        )


def test_the_active_mask_shows_divergence() -> None:
    got = _ints("if (t % 2) o[t] = __activemask(); else o[t] = 0;")
    np.testing.assert_array_equal(
        got.view(np.uint32), np.where(LANES % 2, np.uint32(0xAAAAAAAA), np.uint32(0))
    )


def test_what_a_shuffle_gets_from_a_thread_that_ended_means_nothing() -> None:
    source = """extern "C" __global__ void k(float* o, int n) {
  int t = threadIdx.x;
  if (t >= n) return;
  o[t] = __shfl_down_sync(0xffffffff, 1.0f * t, 1);
}"""
    found = run(source, launch("k", 1, 32, "o", 20), buffers={"o": np.zeros(32, np.float32)})
    assert found.fault is None
    np.testing.assert_array_equal(found.buffers["o"][:19], np.arange(1, 20))
    assert not abs(found.buffers["o"][19]) < 1e38
    assert found.idle_sources == (4,)


def test_a_warp_that_diverged_meets_at_the_shuffle() -> None:
    got = _ints(
        "int v = x[t]; if (t % 2) { v += 1; if (t % 3 == 0) v += 5; } else v *= 2; o[t] = __shfl_xor_sync(~0u, v, 1);"  # noqa: E501
    )
    v = np.where(LANES % 2, VALUES + 1 + 5 * (LANES % 3 == 0), VALUES * 2)
    np.testing.assert_array_equal(got, v[LANES ^ 1])


def test_odd_block_sizes_and_three_dimensions() -> None:
    source = """extern "C" __global__ void k(int* o) {
  int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  int b = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  int n = blockDim.x * blockDim.y * blockDim.z;
  int v = __shfl_down_sync(__activemask(), t, 1);
  o[b * n + t] = b * 1000 + t + (t + 1 < n && t % 32 < 31 ? v - t - 1 : 0);
}"""
    out = run_ok(source, launch("k", (2, 3, 2), (5, 3, 3), "o"), buffers={"o": np.zeros(12 * 45, np.int32)})
    expected = (np.arange(12)[:, None] * 1000 + np.arange(45)[None, :]).ravel()
    np.testing.assert_array_equal(out["o"], expected)


def test_special_registers() -> None:
    source = """extern "C" __global__ void k(unsigned* o) {
  unsigned v[8];
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(v[0]));
  asm volatile("mov.u32 %0, %%warpid;" : "=r"(v[1]));
  asm volatile("mov.u32 %0, %%lanemask_lt;" : "=r"(v[2]));
  asm volatile("mov.u32 %0, %%lanemask_ge;" : "=r"(v[3]));
  asm volatile("mov.u32 %0, %%nwarpid;" : "=r"(v[4]));
  asm volatile("mov.u32 %0, %%smid;" : "=r"(v[5]));
  asm volatile("mov.u32 %0, %%lanemask_eq;" : "=r"(v[6]));
  long long start = clock64();
  v[7] = clock64() > start && clock() != 0;
  for (int i = 0; i < 8; i++) o[threadIdx.x * 8 + i] = v[i];
}"""
    out = run_ok(source, launch("k", 1, 64, "o"), buffers={"o": np.zeros(512, np.uint32)})
    got, lane = out["o"].reshape(64, 8), LANES % 32
    below = (np.uint64(1) << lane.astype(np.uint64)) - np.uint64(1)
    expected = [
        lane,
        LANES // 32,
        below,
        0xFFFFFFFF - below,
        np.full(64, 2),
        np.zeros(64),
        below + np.uint64(1),
        np.ones(64),
    ]
    np.testing.assert_array_equal(got, np.stack(expected, 1).astype(np.uint32))


@pytest.mark.parametrize(
    ("call", "start", "final"),
    [
        ("atomicAdd(p, v)", 5, lambda v: 5 + v.sum()),
        ("atomicSub(p, v)", 5, lambda v: 5 - v.sum()),
        ("atomicMin(p, v)", 500, lambda v: min(500, v.min())),
        ("atomicMax(p, v)", -9, lambda v: max(-9, v.max())),
        ("atomicAnd(p, v)", -1, lambda v: np.bitwise_and.reduce(v)),
        ("atomicOr(p, v)", 0, lambda v: np.bitwise_or.reduce(v)),
        ("atomicXor(p, v)", 0, lambda v: np.bitwise_xor.reduce(v)),
        ("atomicExch(p, v)", 3, lambda v: v[-1]),
        ("atomicInc((unsigned*)p, 6)", 5, lambda v: (5 + v.size) % 7),
        ("atomicDec((unsigned*)p, 6)", 5, lambda v: (5 - v.size) % 7),
        ("atomicCAS(p, 5, 77)", 5, lambda v: 77),
    ],
)  # fmt: skip
@pytest.mark.parametrize("place", ["global", "shared"])
def test_an_atomic_and_what_it_returns(call: str, start: int, final: object, place: str) -> None:
    source = f"""extern "C" __global__ void k(const int* x, int* g, int* old) {{
  __shared__ int s;
  int t = threadIdx.x, v = x[t];
  if (t == 0) s = g[0];
  __syncthreads();
  int* p = {"g" if place == "global" else "&s"};
  old[t] = {call};
  __syncthreads();
  if (t == 0 && {int(place == "shared")}) g[0] = s;
}}"""
    x = RANDOM.integers(-100, 100, 96).astype(np.int32)
    buffers = {"x": x, "g": np.array([start], np.int32), "old": np.zeros(96, np.int32)}
    out = run_ok(source, launch("k", 1, 96, "x", "g", "old"), buffers=buffers)
    assert out["g"][0] == final(x)  # type: ignore[operator]
    assert out["old"][0] == start
    if "Add" in call:
        np.testing.assert_array_equal(out["old"], start + np.concatenate([[0], x.cumsum()[:-1]]))


def test_float_atomics_are_the_same_twice_and_halves_work() -> None:
    source = """#include <cuda_fp16.h>
extern "C" __global__ void k(const float* x, float* o, double* d, __half2* h) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&o[i % 3], x[i]);
  atomicAdd(d, (double)x[i]);
  atomicAdd(&h[i % 2], __floats2half2_rn(1.0f, 2.0f));
  float before = atomicAdd(&o[3], 1.0f);
  if (before == 0.0f) o[4] = 1.0f;
}"""
    x = RANDOM.normal(size=256).astype(np.float32)
    buffers = {"x": x, "o": np.zeros(5, np.float32), "d": np.zeros(1), "h": np.zeros(4, np.float16)}
    first, second = (
        run_ok(source, launch("k", 2, 128, "x", "o", "d", "h"), buffers=buffers) for _ in range(2)
    )
    np.testing.assert_array_equal(first["o"], second["o"])
    np.testing.assert_allclose(first["o"][:3], [x[i::3].sum() for i in range(3)], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(first["d"][0], x.sum(dtype=float), rtol=1e-12)
    np.testing.assert_array_equal(first["h"], [128, 256, 128, 256])
    assert first["o"][3] == 256
    assert first["o"][4] == 1


def test_a_compare_and_swap_loop_and_a_spin_lock() -> None:
    source = """__device__ int lock;
extern "C" __global__ void k(volatile float* o, unsigned* m) {
  unsigned seen = m[0], assumed;
  do { assumed = seen; seen = atomicCAS(m, assumed, assumed + threadIdx.x); } while (seen != assumed);
  if (threadIdx.x % 32 == 0) {
    while (atomicCAS(&lock, 0, 1) != 0) { }
    __threadfence();
    o[0] = o[0] + 1.0f;
    __threadfence();
    atomicExch(&lock, 0);
  }
}"""
    buffers = {"o": np.zeros(1, np.float32), "m": np.zeros(1, np.uint32)}
    out = run_ok(source, launch("k", 2, 64, "o", "m"), buffers=buffers)
    assert out["o"][0] == 4
    assert out["m"][0] == 2 * sum(range(64))


def test_barrier_reductions_and_early_exits() -> None:
    source = """extern "C" __global__ void k(const int* x, int* o, int n) {
  int t = threadIdx.x;
  if (t >= n) return;
  int c = __syncthreads_count(x[t] > 300);
  int a = __syncthreads_and(t < 1000);
  int b = __syncthreads_or(t == n - 1 && blockIdx.x == 1);
  o[blockIdx.x * n + t] = c * 100 + a * 10 + b;
}"""
    x = np.arange(64, dtype=np.int32) * 10
    out = run_ok(source, launch("k", 2, 64, "x", "o", 50), buffers={"x": x, "o": np.zeros(100, np.int32)})
    np.testing.assert_array_equal(out["o"], np.repeat([1910, 1911], 50))


def test_barriers_in_divergent_arms_and_named_barriers() -> None:
    source = """extern "C" __global__ void k(int* o) {
  __shared__ int s[64];
  int t = threadIdx.x;
  if (t < 32) { s[t] = t; __syncthreads(); o[t] = s[63 - t]; }
  else { s[t] = 2 * t; __syncthreads(); o[t] = s[63 - t]; }
  if (t >= 32) { s[t] = 5; asm volatile("bar.arrive 1, 64;" ::: "memory"); }
  else { asm volatile("bar.sync 1, 64;" ::: "memory"); o[t] += s[t + 32]; }
}"""
    out = run_ok(source, launch("k", 3, 64, "o"), buffers={"o": np.zeros(64, np.int32)}, detect_races=False)
    other = 63 - LANES
    expected = np.where(other < 32, other, 2 * other) + np.where(LANES < 32, 5, 0)
    np.testing.assert_array_equal(out["o"], expected)


def test_asynchronous_copies_and_hints_are_carried_out() -> None:
    source = """extern "C" __global__ void k(const float4* x, float* o) {
  __shared__ float4 s[32];
  unsigned to = (unsigned)__cvta_generic_to_shared(&s[threadIdx.x]);
  asm volatile("prefetch.global.L2 [%0];" :: "l"(x));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(to), "l"(x + threadIdx.x));
  asm volatile("cp.async.commit_group; cp.async.wait_group 0;");
  __nanosleep(10);
  __syncthreads();
  float4 v = s[31 - threadIdx.x];
  o[threadIdx.x] = v.x + v.w + __ldg(&x[0].x) + __ldcs(&x[1].y);
}"""
    x = np.arange(128, dtype=np.float32).reshape(32, 4)
    outcome = run(
        source, launch("k", 1, 32, "x", "o"), buffers={"x": x.ravel(), "o": np.zeros(32, np.float32)}
    )
    assert outcome.fault is None
    np.testing.assert_array_equal(outcome.buffers["o"], x[::-1, 0] + x[::-1, 3] + x[0, 0] + x[1, 1])


def test_blocks_pass_a_barrier_one_by_one_and_late_lanes_are_waited_for() -> None:
    source = """extern "C" __global__ void k(int* o) {
  int t = threadIdx.x;
  if (t >= 32 && blockIdx.x == 1) asm volatile("bar.sync 2, 32;" ::: "memory");
  asm volatile("bar.sync 1, 64;" ::: "memory");
  o[blockIdx.x * 64 + t] = 1;
}"""
    out = run_ok(source, launch("k", 3, 64, "o"), buffers={"o": np.zeros(192, np.int32)})
    assert (out["o"] == 1).all()


def test_a_shuffle_waits_for_lanes_that_end_later() -> None:
    source = """extern "C" __global__ void k(int* o, int n) {
  int t = threadIdx.x, v = t;
  if (t >= n) { o[t] = -5; for (int i = 0; i < o[0]; i++) v += o[i]; o[t] = v; return; }
  o[t] = __shfl_xor_sync(0xffffffff, v, 1);
}"""
    out = run_ok(
        source, launch("k", 1, 32, "o", 16), buffers={"o": np.zeros(32, np.int32)}, detect_races=False
    )
    np.testing.assert_array_equal(out["o"], np.where(np.arange(32) < 16, np.arange(32) ^ 1, np.arange(32)))
