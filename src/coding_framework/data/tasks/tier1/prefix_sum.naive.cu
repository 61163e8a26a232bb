// launch: prefix_sum grid=(ceil_div(rows, 64)) block=(64)
extern "C" __global__ void prefix_sum(const float* x, float* y, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows) {
        float total = 0.0f;
        for (int c = 0; c < cols; ++c) {
            total += x[r * cols + c];
            y[r * cols + c] = total;
        }
    }
}
