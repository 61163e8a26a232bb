// launch: matmul_half grid=(ceil_div(n, 16), ceil_div(m, 16)) block=(16, 16)
#include <cuda_fp16.h>

extern "C" __global__ void matmul_half(const half* a, const half* b, half* c, int m, int n, int k) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < m && j < n) {
        float total = 0.0f;
        for (int p = 0; p < k; ++p) {
            total += __half2float(a[i * k + p]) * __half2float(b[p * n + j]);
        }
        c[i * n + j] = __float2half(total);
    }
}
