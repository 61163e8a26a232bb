// launch: masked_softmax grid=(ceil_div(rows, 128)) block=(128)
extern "C" __global__ void masked_softmax(const float* x, const float* mask, float* y, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows) {
        float largest = -1e30f;
        for (int c = 0; c < cols; ++c) {
            float penalty = mask[r * cols + c] > 0.0f ? 0.0f : -1e30f;
            largest = fmaxf(largest, 0.5f * x[r * cols + c] + penalty);
        }
        float total = 0.0f;
        for (int c = 0; c < cols; ++c) {
            float penalty = mask[r * cols + c] > 0.0f ? 0.0f : -1e30f;
            total += expf(0.5f * x[r * cols + c] + penalty - largest);
        }
        float inverse = largest > -1e29f ? 1.0f / total : 0.0f;
        for (int c = 0; c < cols; ++c) {
            float penalty = mask[r * cols + c] > 0.0f ? 0.0f : -1e30f;
            y[r * cols + c] = expf(0.5f * x[r * cols + c] + penalty - largest) * inverse;
        }
    }
}
