// launch: cross_entropy grid=(ceil_div(rows, 128)) block=(128)
extern "C" __global__ void cross_entropy(const float* x, const float* target, float* loss, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows) {
        float largest = 32.0f * x[r * cols];
        for (int c = 1; c < cols; ++c) {
            largest = fmaxf(largest, 32.0f * x[r * cols + c]);
        }
        float total = 0.0f;
        for (int c = 0; c < cols; ++c) {
            total += expf(32.0f * x[r * cols + c] - largest);
        }
        float log_total = logf(total);
        float result = 0.0f;
        for (int c = 0; c < cols; ++c) {
            result += target[r * cols + c] * (log_total - (32.0f * x[r * cols + c] - largest));
        }
        loss[r] = result;
    }
}
