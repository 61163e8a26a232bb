#include <cuda_bf16.h>

// launch: transpose_bfloat16 grid=(ceil_div(cols, 16), ceil_div(rows, 16)) block=(16, 16)
extern "C" __global__ void transpose_bfloat16(const __nv_bfloat16* x, __nv_bfloat16* y, int rows, int cols) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    int r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < rows && c < cols) {
        y[c * rows + r] = x[r * cols + c];
    }
}
