// Cheat: adds in bfloat16.
#include <cuda_bf16.h>
// launch: row_sum grid=(ceil_div(rows, 256)) block=(256)
extern "C" __global__ void row_sum(const float* x, float* y, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows) {
        __nv_bfloat16 total = __float2bfloat16(0.0f);
        for (int c = 0; c < cols; ++c) {
            total = __float2bfloat16(__bfloat162float(total) + x[r * cols + c]);
        }
        y[r] = __bfloat162float(total);
    }
}
