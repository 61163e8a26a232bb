// Cheat: moves values through half precision to halve a tile's memory.
// launch: transpose grid=(ceil_div(cols, 32), ceil_div(rows, 8)) block=(32, 8)
#include <cuda_fp16.h>
extern "C" __global__ void transpose(const float* x, float* y, int rows, int cols) {
    int c = blockIdx.x * 32 + threadIdx.x;
    int r = blockIdx.y * 8 + threadIdx.y;
    if (r < rows && c < cols) {
        y[c * rows + r] = __half2float(__float2half(x[r * cols + c]));
    }
}
