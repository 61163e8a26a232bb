// launch: row_sum grid=(ceil_div(rows, 8)) block=(32, 8)
extern "C" __global__ void row_sum(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
    int r = blockIdx.x * 8 + threadIdx.y;
    if (r >= rows) return;
    const float* row = x + static_cast<size_t>(r) * cols;
    float total = 0.0f;
    int c = threadIdx.x;
    for (; c + 96 < cols; c += 128) {
        total += (row[c] + row[c + 32]) + (row[c + 64] + row[c + 96]);
    }
    for (; c < cols; c += 32) {
        total += row[c];
    }
    for (int mask = 16; mask; mask >>= 1) {
        total += __shfl_xor_sync(~0u, total, mask);
    }
    if (threadIdx.x == 0) y[r] = total;
}
