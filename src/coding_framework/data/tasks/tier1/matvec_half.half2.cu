// One warp a row; rows of an even length start on four bytes and are read in pairs.
#include <cuda_fp16.h>

// launch: matvec_half grid=(ceil_div(rows, 4)) block=(128)
__device__ __forceinline__ float lane_sum(const half* row, const half* x, int cols, int lane) {
    float total = 0.0f;
    if (cols % 2 == 0) {
        const half2* row_pairs = reinterpret_cast<const half2*>(row);
        const half2* x_pairs = reinterpret_cast<const half2*>(x);
        for (int c = lane; c < cols / 2; c += 32) {
            float2 u = __half22float2(row_pairs[c]);
            float2 v = __half22float2(x_pairs[c]);
            total = fmaf(u.x, v.x, fmaf(u.y, v.y, total));
        }
    } else {
        for (int c = lane; c < cols; c += 32) {
            total = fmaf(__half2float(row[c]), __half2float(x[c]), total);
        }
    }
    return total;
}

extern "C" __global__ void matvec_half(const half* __restrict__ a, const half* __restrict__ x,
                                       float* __restrict__ y, int rows, int cols) {
    int lane = threadIdx.x % 32;
    int r = blockIdx.x * 4 + threadIdx.x / 32;
    if (r < rows) {
        float total = lane_sum(a + r * cols, x, cols, lane);
        for (int offset = 16; offset > 0; offset /= 2) {
            total += __shfl_xor_sync(0xffffffff, total, offset);
        }
        if (lane == 0) {
            y[r] = total;
        }
    }
}
