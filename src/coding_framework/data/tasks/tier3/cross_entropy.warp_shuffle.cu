// One warp a row; maximum, sum of exponentials and weighted sum travel through shuffles.
// launch: cross_entropy grid=(ceil_div(rows, 4)) block=(128)
__device__ __forceinline__ float warp_sum(float value) {
    for (int offset = 16; offset > 0; offset /= 2) {
        value += __shfl_xor_sync(0xffffffff, value, offset);
    }
    return value;
}

extern "C" __global__ void cross_entropy(const float* __restrict__ x, const float* __restrict__ target,
                                         float* __restrict__ loss, int rows, int cols) {
    int lane = threadIdx.x % 32;
    int r = blockIdx.x * 4 + threadIdx.x / 32;
    if (r < rows) {
        float largest = 32.0f * x[r * cols];
        for (int c = lane; c < cols; c += 32) {
            largest = fmaxf(largest, 32.0f * x[r * cols + c]);
        }
        for (int offset = 16; offset > 0; offset /= 2) {
            largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, offset));
        }
        float total = 0.0f, result = 0.0f;
        for (int c = lane; c < cols; c += 32) {
            total += __expf(32.0f * x[r * cols + c] - largest);
        }
        float log_total = logf(warp_sum(total));
        for (int c = lane; c < cols; c += 32) {
            result += target[r * cols + c] * (log_total - (32.0f * x[r * cols + c] - largest));
        }
        result = warp_sum(result);
        if (lane == 0) {
            loss[r] = result;
        }
    }
}
