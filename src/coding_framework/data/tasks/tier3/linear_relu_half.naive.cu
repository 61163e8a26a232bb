// launch: linear_relu_half grid=(ceil_div(n, 16), ceil_div(m, 16)) block=(16, 16)
#include <cuda_fp16.h>

extern "C" __global__ void linear_relu_half(const half* x, const half* w, const half* bias, half* y, int m,
                                            int n, int k) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < m && j < n) {
        float total = __half2float(bias[j]);
        for (int p = 0; p < k; ++p) {
            total += __half2float(x[i * k + p]) * __half2float(w[j * k + p]);
        }
        y[i * n + j] = __float2half(fmaxf(total, 0.0f));
    }
}
