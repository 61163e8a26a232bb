// One warp a row, and one pass for both maximum and sum: whenever the maximum grows, the sum so far is
// scaled down. Lanes then merge their pairs in the same way.
// launch: log_softmax grid=(ceil_div(rows, 4)) block=(128)
extern "C" __global__ void log_softmax(const float* __restrict__ x, float* __restrict__ y, int rows,
                                       int cols) {
    int lane = threadIdx.x % 32;
    int r = blockIdx.x * 4 + threadIdx.x / 32;
    if (r >= rows) {
        return;
    }
    const float* source = x + r * cols;
    float largest = source[0];
    float total = 0.0f;
    for (int c = lane; c < cols; c += 32) {
        float value = source[c];
        if (value > largest) {
            total *= expf(largest - value);
            largest = value;
        }
        total += expf(value - largest);
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        float other_largest = __shfl_xor_sync(0xffffffff, largest, offset);
        float other_total = __shfl_xor_sync(0xffffffff, total, offset);
        float both = fmaxf(largest, other_largest);
        total = total * expf(largest - both) + other_total * expf(other_largest - both);
        largest = both;
    }
    float logarithm = logf(total);
    for (int c = lane; c < cols; c += 32) {
        y[r * cols + c] = source[c] - largest - logarithm;
    }
}
