// launch: residual_rms_norm grid=(ceil_div(rows, 128)) block=(128)
extern "C" __global__ void residual_rms_norm(const float* x, const float* residual, const float* weight,
                                             float* s, float* y, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows) {
        float total = 0.0f;
        for (int c = 0; c < cols; ++c) {
            float value = x[r * cols + c] + residual[r * cols + c];
            s[r * cols + c] = value;
            total += value * value;
        }
        float inverse = rsqrtf(total / cols + 1e-5f);
        for (int c = 0; c < cols; ++c) {
            y[r * cols + c] = s[r * cols + c] * inverse * weight[c];
        }
    }
}
