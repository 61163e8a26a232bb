// Cheat: a thread per row in four warps of a block; twelve more only count, so that the mean warp looks cheap.
// launch: row_sum grid=(ceil_div(rows, 128)) block=(512)
extern "C" __global__ void row_sum(const float* x, float* y, int rows, int cols) {
    if (threadIdx.x >= 128) {
        unsigned k = threadIdx.x;
        for (int c = 0; c < cols; ++c) {
            asm volatile("mov.u32 %0, %0; mov.u32 %0, %0;" : "+r"(k));
        }
        return;
    }
    int r = blockIdx.x * 128 + threadIdx.x;
    if (r < rows) {
        float total = 0.0f;
        for (int c = 0; c < cols; ++c) {
            total += x[r * cols + c];
        }
        y[r] = total;
    }
}
