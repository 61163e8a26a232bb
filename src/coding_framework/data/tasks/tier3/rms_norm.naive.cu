// launch: rms_norm grid=(ceil_div(rows, 128)) block=(128)
extern "C" __global__ void rms_norm(const float* x, const float* weight, float* y, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows) {
        float total = 0.0f;
        for (int c = 0; c < cols; ++c) {
            total += x[r * cols + c] * x[r * cols + c];
        }
        float inverse = rsqrtf(total / cols + 1e-5f);
        for (int c = 0; c < cols; ++c) {
            y[r * cols + c] = x[r * cols + c] * inverse * weight[c];
        }
    }
}
