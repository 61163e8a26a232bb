// launch: row_dot grid=(ceil_div(rows, 128)) block=(128)
extern "C" __global__ void row_dot(const float* a, const float* b, float* y, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows) {
        float total = 0.0f;
        for (int c = 0; c < cols; ++c) {
            total += a[r * cols + c] * b[r * cols + c];
        }
        y[r] = total;
    }
}
