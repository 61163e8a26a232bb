// launch: softmax_half grid=(ceil_div(rows, 128)) block=(128)
#include <cuda_fp16.h>

extern "C" __global__ void softmax_half(const half* x, half* y, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows) {
        float largest = __half2float(x[r * cols]);
        for (int c = 1; c < cols; ++c) {
            largest = fmaxf(largest, __half2float(x[r * cols + c]));
        }
        float total = 0.0f;
        for (int c = 0; c < cols; ++c) {
            total += expf(__half2float(x[r * cols + c]) - largest);
        }
        for (int c = 0; c < cols; ++c) {
            y[r * cols + c] = __float2half(expf(__half2float(x[r * cols + c]) - largest) / total);
        }
    }
}
