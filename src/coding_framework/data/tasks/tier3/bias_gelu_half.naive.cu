// launch: bias_gelu_half grid=(ceil_div(rows * cols, 256)) block=(256)
#include <cuda_fp16.h>

extern "C" __global__ void bias_gelu_half(const half* x, const half* bias, half* y, int rows, int cols) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * cols) {
        float z = __half2float(x[i]) + __half2float(bias[i % cols]);
        float inner = 0.7978845608f * (z + 0.044715f * z * z * z);
        y[i] = __float2half(0.5f * z * (1.0f + tanhf(inner)));
    }
}
