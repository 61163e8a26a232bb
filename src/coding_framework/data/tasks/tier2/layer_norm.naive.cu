// launch: layer_norm grid=(ceil_div(rows, 128)) block=(128)
extern "C" __global__ void layer_norm(const float* x, const float* weight, const float* bias, float* y,
                                      int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows) {
        float mean = 0.0f;
        for (int c = 0; c < cols; ++c) {
            mean += x[r * cols + c];
        }
        mean /= cols;
        float variance = 0.0f;
        for (int c = 0; c < cols; ++c) {
            float d = x[r * cols + c] - mean;
            variance += d * d;
        }
        float inverse = rsqrtf(variance / cols + 1e-5f);
        for (int c = 0; c < cols; ++c) {
            y[r * cols + c] = (x[r * cols + c] - mean) * inverse * weight[c] + bias[c];
        }
    }
}
