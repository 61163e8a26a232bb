// launch: matmul_bfloat16 grid=(ceil_div(n, 16), ceil_div(m, 16)) block=(16, 16)
#include <cuda_bf16.h>

extern "C" __global__ void matmul_bfloat16(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c,
                                           int m, int n, int k) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < m && j < n) {
        float total = 0.0f;
        for (int p = 0; p < k; ++p) {
            total += __bfloat162float(a[i * k + p]) * __bfloat162float(b[p * n + j]);
        }
        c[i * n + j] = total;
    }
}
