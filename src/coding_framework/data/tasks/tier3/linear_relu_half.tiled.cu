// 16 x 16 tiles, turned into float on their way into shared memory; w is stored turned and padded.
// launch: linear_relu_half grid=(ceil_div(n, 16), ceil_div(m, 16)) block=(16, 16)
#include <cuda_fp16.h>

extern "C" __global__ void linear_relu_half(const half* __restrict__ x, const half* __restrict__ w,
                                            const half* __restrict__ bias, half* __restrict__ y, int m, int n,
                                            int k) {
    __shared__ float tile_x[16][16];
    __shared__ float tile_w[16][17];
    int tx = threadIdx.x, ty = threadIdx.y;
    int i = blockIdx.y * 16 + ty;
    int j = blockIdx.x * 16 + ty;
    float total = 0.0f;
    for (int start = 0; start < k; start += 16) {
        tile_x[ty][tx] = i < m && start + tx < k ? __half2float(x[i * k + start + tx]) : 0.0f;
        tile_w[tx][ty] = j < n && start + tx < k ? __half2float(w[j * k + start + tx]) : 0.0f;
        __syncthreads();
        for (int p = 0; p < 16; ++p) {
            total += tile_x[ty][p] * tile_w[p][tx];
        }
        __syncthreads();
    }
    j = blockIdx.x * 16 + tx;
    if (i < m && j < n) {
        y[i * n + j] = __float2half(fmaxf(total + __half2float(bias[j]), 0.0f));
    }
}
