"""Prints how long the emulator takes on a few kernels: `python tests/cuda/executors/emulator_figures.py`.

Not a test: times depend on the machine. Needs `src` on PYTHONPATH.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from emulator_support import compile_ptx, launch, run

from coding_framework.cuda.executors.base import ResolvedLaunch

VECTOR_ADD = """extern "C" __global__ void k(const float* x, const float* y, float* o, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) o[i] = x[i] + y[i];
}"""
GELU = """extern "C" __global__ void k(const float* x, const float* y, float* o, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { float v = x[i]; o[i] = 0.5f * v * (1.0f + tanhf(0.79788456f * (v + 0.044715f * v * v * v))); }
}"""
TILED = """extern "C" __global__ void k(const float* a, const float* b, float* c, int m, int n, int kk) {
  __shared__ float as[16][16], bs[16][16];
  int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, col = blockIdx.x * 16 + x;
  float s = 0.0f;
  for (int t = 0; t < kk; t += 16) {
    as[y][x] = (row < m && t + x < kk) ? a[row * kk + t + x] : 0.0f;
    bs[y][x] = (col < n && t + y < kk) ? b[(t + y) * n + col] : 0.0f;
    __syncthreads();
    for (int i = 0; i < 16; i++) s += as[y][i] * bs[i][x];
    __syncthreads();
  }
  if (row < m && col < n) c[row * n + col] = s;
}"""
NAIVE = """extern "C" __global__ void k(const float* a, const float* b, float* c, int m, int n, int kk) {
  int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
  if (row >= m || col >= n) return;
  float s = 0.0f;
  for (int i = 0; i < kk; i++) s += a[row * kk + i] * b[i * n + col];
  c[row * n + col] = s;
}"""
SOFTMAX = """extern "C" __global__ void k(const float* x, float* o, int rows, int cols) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float m = x[row * cols], s = 0.0f;
  for (int c = 1; c < cols; c++) m = fmaxf(m, x[row * cols + c]);
  for (int c = 0; c < cols; c++) s += expf(x[row * cols + c] - m);
  for (int c = 0; c < cols; c++) o[row * cols + c] = expf(x[row * cols + c] - m) / s;
}"""


def _report(name: str, source: str, a_launch: ResolvedLaunch, buffers: dict[str, np.ndarray]) -> None:
    compile_ptx(source)
    seconds = []
    for _ in range(4):
        start = time.perf_counter()
        outcome = run(source, a_launch, buffers=buffers)
        seconds.append(time.perf_counter() - start)
        assert outcome.fault is None, outcome.fault
    sys.stdout.write(f"{name:42} first {seconds[0] * 1e3:8.2f} ms   then {min(seconds[1:]) * 1e3:8.2f} ms\n")


def main() -> None:
    random = np.random.default_rng(0)

    def floats(n: int) -> np.ndarray:
        return random.normal(size=n).astype(np.float32)

    for n in (1 << 20, 1_000_003, 1000, 1):
        buffers = {"x": floats(n), "y": floats(n), "o": floats(n)}
        blocks = -(-n // 256)
        _report(f"vector add of {n:,}", VECTOR_ADD, launch("k", blocks, 256, "x", "y", "o", n), buffers)
    n = 1 << 20
    buffers = {"x": floats(n), "y": floats(n), "o": floats(n)}
    _report(f"GELU of {n:,}", GELU, launch("k", n // 256, 256, "x", "y", "o", n), buffers)
    for name, source in (("tiled", TILED), ("naive", NAIVE)):
        m, n, k = 250, 260, 255
        matrices = {"a": floats(m * k), "b": floats(k * n), "c": floats(m * n)}
        a_launch = launch("k", (17, 16), (16, 16), "a", "b", "c", m, n, k)
        _report(f"{name} matrix product 250x260x255", source, a_launch, matrices)
    _report(
        "softmax 256x512, a thread a row",
        SOFTMAX,
        launch("k", 2, 128, "x", "o", 256, 512),
        {"x": floats(256 * 512), "o": floats(256 * 512)},
    )


if __name__ == "__main__":
    main()
