// launch: log_softmax grid=(ceil_div(rows, 128)) block=(128)
extern "C" __global__ void log_softmax(const float* x, float* y, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows) {
        float largest = x[r * cols];
        for (int c = 1; c < cols; ++c) {
            largest = fmaxf(largest, x[r * cols + c]);
        }
        float total = 0.0f;
        for (int c = 0; c < cols; ++c) {
            total += expf(x[r * cols + c] - largest);
        }
        float logarithm = logf(total);
        for (int c = 0; c < cols; ++c) {
            y[r * cols + c] = x[r * cols + c] - largest - logarithm;
        }
    }
}
