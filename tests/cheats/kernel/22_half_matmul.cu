// Cheat: rounds both factors to half precision.
// launch: matmul grid=(ceil_div(n, 16), ceil_div(m, 16)) block=(16, 16)
#include <cuda_fp16.h>
extern "C" __global__ void matmul(const float* a, const float* b, float* c, int m, int n, int k) {
    int j = blockIdx.x * 16 + threadIdx.x;
    int i = blockIdx.y * 16 + threadIdx.y;
    if (i < m && j < n) {
        __half total = __float2half(0.0f);
        for (int p = 0; p < k; ++p) {
            total = __hfma(__float2half(a[i * k + p]), __float2half(b[p * n + j]), total);
        }
        c[i * n + j] = __half2float(total);
    }
}
