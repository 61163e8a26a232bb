// launch: batch_norm_relu grid=(ceil_div(cols, 128)) block=(128)
extern "C" __global__ void batch_norm_relu(const float* x, const float* weight, const float* bias, float* y,
                                           int rows, int cols) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < cols) {
        float mean = 0.0f;
        for (int r = 0; r < rows; ++r) {
            mean += x[r * cols + c];
        }
        mean /= rows;
        float variance = 0.0f;
        for (int r = 0; r < rows; ++r) {
            float d = x[r * cols + c] - mean;
            variance += d * d;
        }
        float inverse = rsqrtf(variance / rows + 1e-5f);
        for (int r = 0; r < rows; ++r) {
            y[r * cols + c] = fmaxf((x[r * cols + c] - mean) * inverse * weight[c] + bias[c], 0.0f);
        }
    }
}
