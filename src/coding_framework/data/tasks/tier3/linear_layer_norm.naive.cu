// launch: linear_layer_norm grid=(ceil_div(rows, 64)) block=(64)
extern "C" __global__ void linear_layer_norm(const float* x, const float* w, const float* bias, float* y,
                                             int rows, int cols, int k) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows) {
        float mean = 0.0f;
        for (int c = 0; c < cols; ++c) {
            float z = bias[c];
            for (int p = 0; p < k; ++p) {
                z += x[r * k + p] * w[p * cols + c];
            }
            y[r * cols + c] = z;
            mean += z;
        }
        mean /= cols;
        float variance = 0.0f;
        for (int c = 0; c < cols; ++c) {
            variance += (y[r * cols + c] - mean) * (y[r * cols + c] - mean);
        }
        float inverse = rsqrtf(variance / cols + 1e-3f);
        for (int c = 0; c < cols; ++c) {
            y[r * cols + c] = (y[r * cols + c] - mean) * inverse;
        }
    }
}
