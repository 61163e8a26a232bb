#include <cuda_fp16.h>

// launch: matvec_half grid=(ceil_div(rows, 128)) block=(128)
extern "C" __global__ void matvec_half(const half* a, const half* x, float* y, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows) {
        float total = 0.0f;
        for (int c = 0; c < cols; ++c) {
            total += __half2float(a[r * cols + c]) * __half2float(x[c]);
        }
        y[r] = total;
    }
}
