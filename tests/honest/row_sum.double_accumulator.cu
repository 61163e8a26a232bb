// launch: row_sum grid=(ceil_div(rows, 64)) block=(64)
extern "C" __global__ void row_sum(const float* x, float* y, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows) {
        double total = 0.0;
        for (int c = 0; c < cols; ++c) {
            total += x[r * cols + c];
        }
        y[r] = static_cast<float>(total);
    }
}
