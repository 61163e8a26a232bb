// One warp a row; the maximum and the sum travel through shuffles.
// launch: softmax_half grid=(ceil_div(rows, 4)) block=(128)
#include <cuda_fp16.h>

extern "C" __global__ void softmax_half(const half* __restrict__ x, half* __restrict__ y, int rows,
                                        int cols) {
    int lane = threadIdx.x % 32;
    int r = blockIdx.x * 4 + threadIdx.x / 32;
    if (r >= rows) {
        return;
    }
    const half* source = x + r * cols;
    float largest = __half2float(source[0]);
    for (int c = lane; c < cols; c += 32) {
        largest = fmaxf(largest, __half2float(source[c]));
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, offset));
    }
    float total = 0.0f;
    for (int c = lane; c < cols; c += 32) {
        total += __expf(__half2float(source[c]) - largest);
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        total += __shfl_xor_sync(0xffffffff, total, offset);
    }
    float inverse = 1.0f / total;
    for (int c = lane; c < cols; c += 32) {
        y[r * cols + c] = __float2half(__expf(__half2float(source[c]) - largest) * inverse);
    }
}
