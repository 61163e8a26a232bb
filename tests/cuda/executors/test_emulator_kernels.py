"""Whole kernels of the usual kinds against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from emulator_support import launch, run_ok

RANDOM = np.random.default_rng(3)


def _normal(*shape: int) -> np.ndarray:
    return RANDOM.normal(size=shape).astype(np.float32)


BLOCK_SUM = """
extern "C" __global__ void k(const float* x, float* o, int n) {
  __shared__ float s[256];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  s[t] = i < n ? x[i] : 0.0f;
  __syncthreads();
  for (int d = blockDim.x / 2; d > 0; d >>= 1) {
    if (t < d) s[t] += s[t + d];
    __syncthreads();
  }
  if (t == 0) o[blockIdx.x] = s[0];
}"""


@pytest.mark.parametrize("n", [1, 255, 1000, 70001])
def test_a_tree_reduction_in_shared_memory(n: int) -> None:
    x, blocks = _normal(n), -(-n // 256)
    out = run_ok(
        BLOCK_SUM, launch("k", blocks, 256, "x", "o", n), buffers={"x": x, "o": np.zeros(blocks, np.float32)}
    )
    padded = np.pad(x, (0, blocks * 256 - n)).reshape(blocks, 256)
    np.testing.assert_allclose(out["o"], padded.sum(1), rtol=1e-4, atol=1e-4)


def test_a_warp_shuffle_reduction_over_rows() -> None:
    source = """
extern "C" __global__ void k(const float* x, float* o, int rows, int cols) {
  __shared__ float part[8];
  int row = blockIdx.x, t = threadIdx.x;
  float s = 0.0f;
  for (int c = t; c < cols; c += blockDim.x) s += x[row * cols + c];
  for (int d = 16; d > 0; d /= 2) s += __shfl_down_sync(0xffffffff, s, d);
  if (t % 32 == 0) part[t / 32] = s;
  __syncthreads();
  if (t < 32) {
    s = t < blockDim.x / 32 ? part[t] : 0.0f;
    for (int d = 4; d > 0; d /= 2) s += __shfl_down_sync(0xffffffff, s, d);
    if (t == 0) o[row] = s;
  }
}"""
    x = _normal(37, 301)
    out = run_ok(
        source, launch("k", 37, 256, "x", "o", 37, 301), buffers={"x": x, "o": np.zeros(37, np.float32)}
    )
    np.testing.assert_allclose(out["o"], x.sum(1), rtol=1e-4, atol=1e-4)


def test_a_tiled_transpose_with_padding() -> None:
    source = """
extern "C" __global__ void k(const float* x, float* o, int rows, int cols) {
  __shared__ float tile[32][33];
  int c = blockIdx.x * 32 + threadIdx.x;
  for (int j = threadIdx.y; j < 32; j += 8) {
    int r = blockIdx.y * 32 + j;
    if (r < rows && c < cols) tile[j][threadIdx.x] = x[r * cols + c];
  }
  __syncthreads();
  int r = blockIdx.y * 32 + threadIdx.x;
  for (int j = threadIdx.y; j < 32; j += 8) {
    int c2 = blockIdx.x * 32 + j;
    if (c2 < cols && r < rows) o[c2 * rows + r] = tile[threadIdx.x][j];
  }
}"""
    x = _normal(75, 130)
    out = run_ok(
        source,
        launch("k", (5, 3), (32, 8), "x", "o", 75, 130),
        buffers={"x": x, "o": np.zeros(x.size, np.float32)},
    )
    np.testing.assert_array_equal(out["o"].reshape(130, 75), x.T)


MATMUL = """
#define T 16
extern "C" __global__ void k(const float* a, const float* b, float* c, int m, int n, int kk) {
  __shared__ float as[T][T], bs[T][T];
  int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;
  float sum = 0.0f;
  for (int t = 0; t < kk; t += T) {
    as[threadIdx.y][threadIdx.x] = (row < m && t + threadIdx.x < kk) ? a[row * kk + t + threadIdx.x] : 0.0f;
    bs[threadIdx.y][threadIdx.x] = (col < n && t + threadIdx.y < kk) ? b[(t + threadIdx.y) * n + col] : 0.0f;
    __syncthreads();
    for (int i = 0; i < T; i++) sum += as[threadIdx.y][i] * bs[i][threadIdx.x];
    __syncthreads();
  }
  if (row < m && col < n) c[row * n + col] = sum;
}"""


@pytest.mark.parametrize(("m", "n", "k"), [(1, 1, 1), (16, 16, 16), (33, 47, 29), (70, 50, 90)])
def test_a_tiled_matrix_product(m: int, n: int, k: int) -> None:
    a, b = _normal(m, k), _normal(k, n)
    out = run_ok(
        MATMUL,
        launch("k", (-(-n // 16), -(-m // 16)), (16, 16), "a", "b", "c", m, n, k),
        buffers={"a": a, "b": b, "c": np.full(m * n, np.nan, np.float32)},
    )
    np.testing.assert_allclose(out["c"].reshape(m, n), a @ b, rtol=1e-4, atol=1e-4)


def test_softmax_with_one_block_per_row() -> None:
    source = """
extern "C" __global__ void k(const float* x, float* o, int cols) {
  __shared__ float s[128];
  int t = threadIdx.x;
  const float* row = x + blockIdx.x * cols;
  float m = -1e30f;
  for (int c = t; c < cols; c += 128) m = fmaxf(m, row[c]);
  s[t] = m; __syncthreads();
  for (int d = 64; d > 0; d >>= 1) { if (t < d) s[t] = fmaxf(s[t], s[t + d]); __syncthreads(); }
  m = s[0]; __syncthreads();
  float sum = 0.0f;
  for (int c = t; c < cols; c += 128) sum += expf(row[c] - m);
  s[t] = sum; __syncthreads();
  for (int d = 64; d > 0; d >>= 1) { if (t < d) s[t] += s[t + d]; __syncthreads(); }
  sum = s[0];
  for (int c = t; c < cols; c += 128) o[blockIdx.x * cols + c] = expf(row[c] - m) / sum;
}"""
    x = _normal(9, 333) * 5
    out = run_ok(
        source, launch("k", 9, 128, "x", "o", 333), buffers={"x": x, "o": np.zeros(x.size, np.float32)}
    )
    e = np.exp(x.astype(float) - x.max(1, keepdims=True))
    np.testing.assert_allclose(out["o"].reshape(x.shape), e / e.sum(1, keepdims=True), rtol=1e-5, atol=1e-7)


def test_layer_norm_with_one_thread_per_row() -> None:
    source = """
extern "C" __global__ void k(const float* x, const float* g, const float* b, float* o, int rows, int cols) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float mean = 0.0f, var = 0.0f;
  for (int c = 0; c < cols; c++) mean += x[row * cols + c];
  mean /= cols;
  for (int c = 0; c < cols; c++) { float d = x[row * cols + c] - mean; var += d * d; }
  float r = rsqrtf(var / cols + 1e-5f);
  for (int c = 0; c < cols; c++) o[row * cols + c] = (x[row * cols + c] - mean) * r * g[c] + b[c];
}"""
    x, g, b = _normal(70, 45), _normal(45), _normal(45)
    out = run_ok(
        source,
        launch("k", 2, 64, "x", "g", "b", "o", 70, 45),
        buffers={"x": x, "g": g, "b": b, "o": np.zeros(x.size, np.float32)},
    )
    wide = x.astype(float)
    expected = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-5) * g + b
    np.testing.assert_allclose(out["o"].reshape(x.shape), expected, rtol=1e-4, atol=1e-5)


def test_an_inclusive_scan_in_shared_memory() -> None:
    source = """
extern "C" __global__ void k(const int* x, int* o) {
  __shared__ int s[2][256];
  int t = threadIdx.x, in = 0;
  s[0][t] = x[blockIdx.x * 256 + t];
  __syncthreads();
  for (int d = 1; d < 256; d *= 2) {
    s[1 - in][t] = s[in][t] + (t >= d ? s[in][t - d] : 0);
    in = 1 - in;
    __syncthreads();
  }
  o[blockIdx.x * 256 + t] = s[in][t];
}"""
    x = RANDOM.integers(-50, 50, (3, 256)).astype(np.int32)
    out = run_ok(source, launch("k", 3, 256, "x", "o"), buffers={"x": x, "o": np.zeros(x.size, np.int32)})
    np.testing.assert_array_equal(out["o"].reshape(3, 256), x.cumsum(1))


def test_a_histogram_with_shared_and_global_atomics() -> None:
    source = """
extern "C" __global__ void k(const int* x, int* bins, int n) {
  __shared__ int s[16];
  if (threadIdx.x < 16) s[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&s[x[i]], 1);
  __syncthreads();
  if (threadIdx.x < 16) atomicAdd(&bins[threadIdx.x], s[threadIdx.x]);
}"""
    x = RANDOM.integers(0, 16, 5000).astype(np.int32)
    out = run_ok(source, launch("k", 7, 128, "x", "b", 5000), buffers={"x": x, "b": np.zeros(16, np.int32)})
    np.testing.assert_array_equal(out["b"], np.bincount(x, minlength=16))


def test_half_precision_arithmetic_and_pairs() -> None:
    source = """
#include <cuda_fp16.h>
extern "C" __global__ void k(const __half* a, const __half* b, __half* o, __half2* p, int n) {
  int i = threadIdx.x;
  if (i < n) {
    __half s = __hadd(a[i], b[i]);
    o[i] = __hgt(a[i], b[i]) ? __hfma(a[i], b[i], s) : __hsub(s, __hmul(a[i], b[i]));
    if (i < n / 2) {
      const __half2* q = (const __half2*)a;
      const __half2* r = (const __half2*)b;
      p[i] = __hmax2(__hfma2(q[i], r[i], q[i]), __hmul2(q[i], r[i]));
    }
  }
}"""
    a, b = RANDOM.normal(size=64).astype(np.float16), RANDOM.normal(size=64).astype(np.float16)
    buffers = {"a": a, "b": b, "o": np.zeros(64, np.float16), "p": np.zeros(64, np.float16)}
    out = run_ok(source, launch("k", 1, 64, "a", "b", "o", "p", 64), buffers=buffers)
    s = a + b
    fused = (a.astype(float) * b + s).astype(np.float16)
    np.testing.assert_array_equal(out["o"], np.where(a > b, fused, s - a * b))
    pairs = np.maximum((a.astype(float) * b + a).astype(np.float16), a * b)
    np.testing.assert_array_equal(out["p"], pairs)


def test_bfloat16_arithmetic() -> None:
    source = """
#include <cuda_bf16.h>
extern "C" __global__ void k(const __nv_bfloat16* a, const float* b, __nv_bfloat16* o, __nv_bfloat162* p) {
  int i = threadIdx.x;
  float v = __bfloat162float(a[i]) * b[i];
  o[i] = __hadd(__float2bfloat16(v), a[i]);
  if (i < 32) p[i] = __hadd2(((const __nv_bfloat162*)a)[i], __floats2bfloat162_rn(b[2 * i], b[2 * i + 1]));
}"""

    def to_bits(x: np.ndarray) -> np.ndarray:
        bits = x.astype(np.float32).view(np.uint32)
        return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)

    def to_float(bits: np.ndarray) -> np.ndarray:
        return (bits.astype(np.uint32) << 16).view(np.float32)

    a, b = to_bits(_normal(64)), _normal(64)
    buffers = {"a": a, "b": b, "o": np.zeros(64, np.uint16), "p": np.zeros(64, np.uint16)}
    out = run_ok(source, launch("k", 1, 64, "a", "b", "o", "p"), buffers=buffers)
    product = to_float(to_bits(to_float(a) * b))
    np.testing.assert_array_equal(out["o"], to_bits(product + to_float(a)))
    np.testing.assert_array_equal(out["p"], to_bits(to_float(a) + to_float(to_bits(b))))


def test_vector_loads_and_stores_of_float4() -> None:
    source = """
extern "C" __global__ void k(const float4* x, float4* o, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { float4 v = x[i]; v.x += 1; v.y *= 2; v.z -= 3; v.w = v.x; o[i] = v; }
}"""
    x = _normal(100, 4)
    out = run_ok(source, launch("k", 1, 128, "x", "o", 100), buffers={"x": x, "o": np.zeros(400, np.float32)})
    expected = np.stack([x[:, 0] + 1, x[:, 1] * 2, x[:, 2] - 3, x[:, 0] + 1], 1)
    np.testing.assert_array_equal(out["o"].reshape(100, 4), expected)


def test_loops_with_break_continue_and_different_lengths() -> None:
    source = """
extern "C" __global__ void k(const int* x, int* o, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int v = x[i], s = 0;
  for (int j = 0; j < v; j++) {
    if (j % 3 == 1) continue;
    if (s > 200) break;
    for (int q = 0; q < (v & 7); q++) { if (q == 5) break; s += q + j; }
    s += j;
  }
  while (s % 7 != 0) s++;
  o[i] = s;
}"""

    def reference(v: int) -> int:
        s = 0
        for j in range(v):
            if j % 3 == 1:
                continue
            if s > 200:
                break
            for q in range(v & 7):
                if q == 5:
                    break
                s += q + j
            s += j
        while s % 7:
            s += 1
        return s

    x = RANDOM.integers(0, 60, 1000).astype(np.int32)
    out = run_ok(source, launch("k", 8, 128, "x", "o", 1000), buffers={"x": x, "o": np.zeros(1000, np.int32)})
    np.testing.assert_array_equal(out["o"], [reference(int(v)) for v in x])


def test_a_switch_with_many_cases() -> None:
    cases = "\n".join(f"case {i}: v = v * {i + 3} + {i * i}; break;" for i in range(12))
    source = f"""
extern "C" __global__ void k(const int* x, int* o) {{
  int i = threadIdx.x, v = i;
  switch (x[i]) {{ {cases} case 12: return; default: v = -1; }}
  o[i] = v;
}}"""
    x = RANDOM.integers(-3, 16, 256).astype(np.int32)
    out = run_ok(source, launch("k", 1, 256, "x", "o"), buffers={"x": x, "o": np.full(256, 77, np.int32)})
    i = np.arange(256)
    expected = np.where((x >= 0) & (x < 12), i * (x + 3) + x * x, np.where(x == 12, 77, -1))
    np.testing.assert_array_equal(out["o"], expected)


def test_device_functions_that_are_not_inlined() -> None:
    source = """
struct Pair { float a; int b; double c; };
__device__ __noinline__ float mean(Pair p, float x) { return p.a * x + p.b + (float)p.c; }
__device__ __noinline__ Pair make(float a, int b) { Pair p; p.a = a; p.b = b; p.c = a * b; return p; }
__device__ __noinline__ void add_into(float* o, float v) { if (v > 0) { *o += v; return; } *o -= v; }
extern "C" __global__ void k(const float* x, float* o) {
  int i = threadIdx.x;
  Pair p = make(x[i], i);
  o[i] = mean(p, 2.0f);
  add_into(o + i, x[i]);
}"""
    x = _normal(64)
    out = run_ok(source, launch("k", 1, 64, "x", "o"), buffers={"x": x, "o": np.zeros(64, np.float32)})
    i = np.arange(64)
    np.testing.assert_allclose(out["o"], x * 2.0 + i + x * i + np.abs(x), rtol=1e-5)


def test_local_arrays_constants_and_device_variables() -> None:
    source = """
__constant__ float table[5] = {1.5f, -2.0f, 3.25f, 0.0f, 9.0f};
__device__ int counter = 5;
__device__ short shorts[3] = {7, -8, 9};
__device__ const char* text = "abc";
extern "C" __global__ void k(const int* x, float* o, int* c) {
  int i = threadIdx.x;
  float a[8];
  short b[4];
  for (int j = 0; j < 8; j++) a[j] = j * x[i];
  for (int j = 0; j < 4; j++) b[(j + x[i]) & 3] = j + i;
  o[i] = a[x[i] & 7] + table[x[i] % 5] + b[x[i] & 3] + shorts[x[i] % 3] + text[x[i] % 3];
  if (i == 3) { counter += 2; c[0] = counter; }
}"""
    x = RANDOM.integers(0, 100, 64).astype(np.int32)
    buffers = {"x": x, "o": np.zeros(64, np.float32), "c": np.zeros(1, np.int32)}
    out = run_ok(source, launch("k", 1, 64, "x", "o", "c"), buffers=buffers)
    table, shorts, text = np.array([1.5, -2, 3.25, 0, 9]), np.array([7, -8, 9]), np.array([97, 98, 99])
    expected = (x & 7) * x + table[x % 5] + np.arange(64) + shorts[x % 3] + text[x % 3]
    np.testing.assert_allclose(out["o"], expected)
    assert out["c"][0] == 7


def test_dynamic_shared_memory_and_generic_pointers() -> None:
    source = """
extern __shared__ float buffer[];
__device__ __noinline__ float pick(const float* p, int i) { return p[i]; }
extern "C" __global__ void k(const float* x, float* o, int n) {
  int t = threadIdx.x;
  float* second = buffer + n;
  buffer[t] = x[t];
  second[t] = 2.0f * x[t];
  __syncthreads();
  const float* from = t % 2 ? second : x;
  o[t] = pick(from, n - 1 - t) + pick(buffer, t);
}"""
    x = _normal(64)
    out = run_ok(
        source, launch("k", 1, 64, "x", "o", 64, shared=512), buffers={"x": x, "o": np.zeros(64, np.float32)}
    )
    t = np.arange(64)
    np.testing.assert_array_equal(out["o"], np.where(t % 2, 2 * x[::-1], x[::-1]) + x)


def test_cooperative_groups_and_templates() -> None:
    source = """
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
template <int W, typename T> __device__ T tile_sum(T v) {
  auto tile = cg::tiled_partition<W>(cg::this_thread_block());
  for (int d = W / 2; d > 0; d /= 2) v += tile.shfl_down(v, d);
  return tile.shfl(v, 0);
}
extern "C" __global__ void k(const float* x, float* o, int* r) {
  int t = threadIdx.x;
  o[t] = tile_sum<8>(x[t]) + tile_sum<32>(x[t]);
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  r[t] = cg::reduce(warp, t, cg::plus<int>());
  cg::this_thread_block().sync();
}"""
    x = _normal(64)
    buffers = {"x": x, "o": np.zeros(64, np.float32), "r": np.zeros(64, np.int32)}
    out = run_ok(source, launch("k", 1, 64, "x", "o", "r"), buffers=buffers)
    expected = np.repeat(x.reshape(-1, 8).sum(1), 8) + np.repeat(x.reshape(-1, 32).sum(1), 32)
    np.testing.assert_allclose(out["o"], expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(out["r"], np.repeat(np.arange(64).reshape(2, 32).sum(1), 32))


def test_several_launches_pass_data_on() -> None:
    source = (
        BLOCK_SUM
        + """
extern "C" __global__ void total(const float* p, float* o, int n) {
  float s = 0.0f;
  for (int i = 0; i < n; i++) s += p[i];
  o[0] = s;
}"""
    )
    x = _normal(2000)
    buffers = {"x": x, "p": np.full(8, np.nan, np.float32), "o": np.zeros(1, np.float32)}
    out = run_ok(
        source, launch("k", 8, 256, "x", "p", 2000), launch("total", 1, 1, "p", "o", 8), buffers=buffers
    )
    np.testing.assert_allclose(out["o"][0], x.sum(dtype=float), rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(out["x"], x)


def test_a_large_grid_runs_in_chunks_with_ragged_ends() -> None:
    source = """
extern "C" __global__ void k(const float* x, float* o, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { float v = x[i]; for (int j = 0; j < (i & 3); j++) v = v * 0.5f + 1.0f; o[i] = v; }
}"""
    n = 300_007
    x = _normal(n)
    out = run_ok(
        source, launch("k", -(-n // 192), 192, "x", "o", n), buffers={"x": x, "o": np.zeros(n, np.float32)}
    )
    expected = x.copy()
    for step in range(3):
        more = (np.arange(n) & 3) > step
        expected[more] = expected[more] * np.float32(0.5) + np.float32(1)
    np.testing.assert_array_equal(out["o"], expected)


def test_float_and_wide_parameters_take_integers() -> None:
    source = """
extern "C" __global__ void k(float* o, float a, double b, long long c, short d) {
  o[threadIdx.x] = a + (float)b + (float)c + d;
}"""
    out = run_ok(
        source, launch("k", 1, 32, "o", 2, 3, 5_000_000_000, -4), buffers={"o": np.zeros(32, np.float32)}
    )
    np.testing.assert_allclose(out["o"], 5_000_000_001.0)
