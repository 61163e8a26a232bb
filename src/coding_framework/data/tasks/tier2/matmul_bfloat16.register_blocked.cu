// 32 x 32 tiles, 16 x 16 threads, 2 x 2 sums a thread: each value read from shared memory serves twice.
// launch: matmul_bfloat16 grid=(ceil_div(n, 32), ceil_div(m, 32)) block=(16, 16)
#include <cuda_bf16.h>

extern "C" __global__ void matmul_bfloat16(const __nv_bfloat16* __restrict__ a,
                                           const __nv_bfloat16* __restrict__ b, float* __restrict__ c,
                                           int m, int n, int k) {
    __shared__ float tile_a[32][17];
    __shared__ float tile_b[16][32];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * 32 + ty, col = blockIdx.x * 32 + tx;
    float total[2][2] = {};
    for (int start = 0; start < k; start += 16) {
        for (int q = 0; q < 2; ++q) {
            int i = row + 16 * q, j = col + 16 * q;
            tile_a[ty + 16 * q][tx] =
                i < m && start + tx < k ? __bfloat162float(a[i * k + start + tx]) : 0.0f;
            tile_b[ty][tx + 16 * q] =
                j < n && start + ty < k ? __bfloat162float(b[(start + ty) * n + j]) : 0.0f;
        }
        __syncthreads();
        for (int p = 0; p < 16; ++p) {
            float u0 = tile_a[ty][p], u1 = tile_a[ty + 16][p];
            float v0 = tile_b[p][tx], v1 = tile_b[p][tx + 16];
            total[0][0] += u0 * v0;
            total[0][1] += u0 * v1;
            total[1][0] += u1 * v0;
            total[1][1] += u1 * v1;
        }
        __syncthreads();
    }
    for (int s = 0; s < 2; ++s) {
        for (int t = 0; t < 2; ++t) {
            int i = row + 16 * s, j = col + 16 * t;
            if (i < m && j < n) {
                c[i * n + j] = total[s][t];
            }
        }
    }
}
