// launch: l2_normalise grid=(ceil_div(rows, 128)) block=(128)
extern "C" __global__ void l2_normalise(const float* x, float* y, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows) {
        float squares = 0.0f;
        for (int c = 0; c < cols; ++c) {
            squares += x[r * cols + c] * x[r * cols + c];
        }
        float length = sqrtf(squares + 1e-6f);
        for (int c = 0; c < cols; ++c) {
            y[r * cols + c] = x[r * cols + c] / length;
        }
    }
}
