// One warp a row with two independent sums a lane: twice the loads in flight.
// launch: row_dot grid=(ceil_div(rows, 4)) block=(128)
extern "C" __global__ void row_dot(const float* __restrict__ a, const float* __restrict__ b,
                                   float* __restrict__ y, int rows, int cols) {
    int lane = threadIdx.x % 32;
    int r = blockIdx.x * 4 + threadIdx.x / 32;
    if (r < rows) {
        const float* left = a + r * cols;
        const float* right = b + r * cols;
        float first = 0.0f;
        float second = 0.0f;
        int c = lane;
        for (; c + 32 < cols; c += 64) {
            first = fmaf(left[c], right[c], first);
            second = fmaf(left[c + 32], right[c + 32], second);
        }
        if (c < cols) {
            first = fmaf(left[c], right[c], first);
        }
        float total = first + second;
        for (int offset = 16; offset > 0; offset /= 2) {
            total += __shfl_down_sync(0xffffffff, total, offset);
        }
        if (lane == 0) {
            y[r] = total;
        }
    }
}
