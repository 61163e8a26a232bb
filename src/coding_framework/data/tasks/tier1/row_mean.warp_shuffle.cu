// One warp a row: coalesced loads, then a butterfly of shuffles.
// launch: row_mean grid=(ceil_div(rows, 8)) block=(256)
extern "C" __global__ void row_mean(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
    int lane = threadIdx.x % 32;
    int r = blockIdx.x * 8 + threadIdx.x / 32;
    if (r < rows) {
        float total = 0.0f;
        for (int c = lane; c < cols; c += 32) {
            total += x[r * cols + c];
        }
        for (int offset = 16; offset > 0; offset /= 2) {
            total += __shfl_xor_sync(0xffffffff, total, offset);
        }
        if (lane == 0) {
            y[r] = total / cols;
        }
    }
}
