// launch: row_norm grid=(ceil_div(rows, 128)) block=(128)
extern "C" __global__ void row_norm(const float* x, float* y, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows) {
        float total = 0.0f;
        for (int c = 0; c < cols; ++c) {
            total += x[r * cols + c] * x[r * cols + c];
        }
        y[r] = sqrtf(total);
    }
}
