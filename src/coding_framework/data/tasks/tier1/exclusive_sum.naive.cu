// launch: exclusive_sum grid=(ceil_div(rows, 64)) block=(64)
extern "C" __global__ void exclusive_sum(const float* x, float* y, float* total, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows) {
        float before = 0.0f;
        for (int c = 0; c < cols; ++c) {
            y[r * cols + c] = before;
            before += x[r * cols + c];
        }
        total[r] = before;
    }
}
