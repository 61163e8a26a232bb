// One warp a row: coalesced loads, then a butterfly of shuffles.
// launch: row_max grid=(ceil_div(rows, 8)) block=(256)
extern "C" __global__ void row_max(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
    int lane = threadIdx.x % 32;
    int r = blockIdx.x * 8 + threadIdx.x / 32;
    if (r < rows) {
        float largest = x[r * cols];
        for (int c = lane; c < cols; c += 32) {
            largest = fmaxf(largest, x[r * cols + c]);
        }
        for (int offset = 16; offset > 0; offset /= 2) {
            largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, offset));
        }
        if (lane == 0) {
            y[r] = largest;
        }
    }
}
