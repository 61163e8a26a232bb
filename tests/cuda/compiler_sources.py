"""Small kernels for the tests of the compiler."""

from __future__ import annotations

VECTOR_ADD = """\
// launch: vector_add grid=(ceil_div(n, 256)) block=(256)
extern "C" __global__ void vector_add(const float* x, const float* y, float* z, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = x[i] + y[i];
}
"""
TWO_KERNELS = """\
// launch: second grid=(1) block=(64)
extern "C" __global__ void first(float* x) {
  __shared__ float tile[64];
  tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = tile[63 - threadIdx.x];
}
extern "C" __global__ void second(float* x) { x[0] = 2; }
"""
