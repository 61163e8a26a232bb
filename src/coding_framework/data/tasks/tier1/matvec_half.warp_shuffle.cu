// One warp a row: coalesced loads, then a butterfly of shuffles.
#include <cuda_fp16.h>

// launch: matvec_half grid=(ceil_div(rows, 4)) block=(128)
extern "C" __global__ void matvec_half(const half* __restrict__ a, const half* __restrict__ x,
                                       float* __restrict__ y, int rows, int cols) {
    int lane = threadIdx.x % 32;
    int r = blockIdx.x * 4 + threadIdx.x / 32;
    if (r < rows) {
        float total = 0.0f;
        for (int c = lane; c < cols; c += 32) {
            total += __half2float(a[r * cols + c]) * __half2float(x[c]);
        }
        for (int offset = 16; offset > 0; offset /= 2) {
            total += __shfl_xor_sync(0xffffffff, total, offset);
        }
        if (lane == 0) {
            y[r] = total;
        }
    }
}
