// One warp a row, two elements at a time as half2. Rows of an odd length start at odd places, so there
// the elements are taken one by one.
// launch: softmax_half grid=(ceil_div(rows, 4)) block=(128)
#include <cuda_fp16.h>

__device__ float warp_max(float value) {
    for (int offset = 16; offset > 0; offset /= 2) {
        value = fmaxf(value, __shfl_xor_sync(0xffffffff, value, offset));
    }
    return value;
}

__device__ float warp_sum(float value) {
    for (int offset = 16; offset > 0; offset /= 2) {
        value += __shfl_xor_sync(0xffffffff, value, offset);
    }
    return value;
}

__device__ float2 load_pair(const half* row, int pair, bool aligned, int cols) {
    if (aligned) {
        return __half22float2(reinterpret_cast<const half2*>(row)[pair]);
    }
    float second = 2 * pair + 1 < cols ? __half2float(row[2 * pair + 1]) : -INFINITY;
    return make_float2(__half2float(row[2 * pair]), second);
}

extern "C" __global__ void softmax_half(const half* __restrict__ x, half* __restrict__ y, int rows,
                                        int cols) {
    int lane = threadIdx.x % 32;
    int r = blockIdx.x * 4 + threadIdx.x / 32;
    if (r >= rows) {
        return;
    }
    const half* source = x + r * cols;
    bool aligned = cols % 2 == 0;
    int pairs = (cols + 1) / 2;
    float largest = -INFINITY;
    for (int p = lane; p < pairs; p += 32) {
        float2 value = load_pair(source, p, aligned, cols);
        largest = fmaxf(largest, fmaxf(value.x, value.y));
    }
    largest = warp_max(largest);
    float total = 0.0f;
    for (int p = lane; p < pairs; p += 32) {
        float2 value = load_pair(source, p, aligned, cols);
        total += __expf(value.x - largest) + __expf(value.y - largest);
    }
    float inverse = 1.0f / warp_sum(total);
    for (int p = lane; p < pairs; p += 32) {
        float2 value = load_pair(source, p, aligned, cols);
        half2 result = __floats2half2_rn(__expf(value.x - largest) * inverse, __expf(value.y - largest) * inverse);
        if (aligned) {
            reinterpret_cast<half2*>(y + r * cols)[p] = result;
        } else {
            y[r * cols + 2 * p] = __low2half(result);
            if (2 * p + 1 < cols) {
                y[r * cols + 2 * p + 1] = __high2half(result);
            }
        }
    }
}
