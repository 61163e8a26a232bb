// launch: layer_norm grid=(ceil_div(rows, 64)) block=(64)
extern "C" __global__ void layer_norm(const float* x, const float* weight, const float* bias, float* y, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows) {
        float mean = 0.0f, squares = 0.0f;
        for (int c = 0; c < cols; ++c) {
            float delta = x[r * cols + c] - mean;
            mean += delta / (c + 1);
            squares += delta * (x[r * cols + c] - mean);
        }
        float scale = 1.0f / sqrtf(squares / cols + 1e-5f);
        for (int c = 0; c < cols; ++c) {
            y[r * cols + c] = (x[r * cols + c] - mean) * scale * weight[c] + bias[c];
        }
    }
}
