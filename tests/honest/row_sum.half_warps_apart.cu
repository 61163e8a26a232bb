// Each half of a warp has a row of its own: both shuffle and vote at once, under masks of their own.
// launch: row_sum grid=(ceil_div(rows, 4)) block=(64)
extern "C" __global__ void row_sum(const float* x, float* y, int rows, int cols) {
    __shared__ float last[64];
    int half = threadIdx.x / 16, lane = threadIdx.x % 16, row = blockIdx.x * 4 + half;
    unsigned mask = 0xffffu << (threadIdx.x & 16);
    float sum = 0.f;
    int c = lane;
    while (__any_sync(mask, row < rows && c < cols)) {
        if (row < rows && c < cols) sum += x[(size_t)row * cols + c];
        c += 16;
    }
    sum += __shfl_down_sync(mask, sum, 8, 16);
    last[threadIdx.x] = sum;
    __syncwarp(mask);
    if (lane == 0 && row < rows) {
        float total = 0.f;
        for (int i = 0; i < 8; i++) total += last[half * 16 + i];
        y[row] = total;
    }
}
