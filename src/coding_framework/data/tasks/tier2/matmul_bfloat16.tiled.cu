// 16 x 16 tiles in shared memory, widened to float32 once when they are loaded.
// launch: matmul_bfloat16 grid=(ceil_div(n, 16), ceil_div(m, 16)) block=(16, 16)
#include <cuda_bf16.h>

extern "C" __global__ void matmul_bfloat16(const __nv_bfloat16* __restrict__ a, const __nv_bfloat16* __restrict__ b,
                                       float* __restrict__ c, int m, int n, int k) {
    __shared__ float tile_a[16][16];
    __shared__ float tile_b[16][16];
    int tx = threadIdx.x, ty = threadIdx.y;
    int i = blockIdx.y * 16 + ty;
    int j = blockIdx.x * 16 + tx;
    float total = 0.0f;
    for (int start = 0; start < k; start += 16) {
        tile_a[ty][tx] = i < m && start + tx < k ? __bfloat162float(a[i * k + start + tx]) : 0.0f;
        tile_b[ty][tx] = j < n && start + ty < k ? __bfloat162float(b[(start + ty) * n + j]) : 0.0f;
        __syncthreads();
        for (int p = 0; p < 16; ++p) {
            total += tile_a[ty][p] * tile_b[p][tx];
        }
        __syncthreads();
    }
    if (i < m && j < n) {
        c[i * n + j] = total;
    }
}
