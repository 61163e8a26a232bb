// launch: huber_rows grid=(ceil_div(rows, 128)) block=(128)
extern "C" __global__ void huber_rows(const float* x, const float* target, float* loss, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows) {
        float total = 0.0f;
        for (int c = 0; c < cols; ++c) {
            float d = fabsf(x[r * cols + c] - target[r * cols + c]);
            total += d <= 1.0f ? 0.5f * d * d : d - 0.5f;
        }
        loss[r] = total / cols;
    }
}
