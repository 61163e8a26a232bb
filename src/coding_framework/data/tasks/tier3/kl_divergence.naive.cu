// launch: kl_divergence grid=(ceil_div(rows, 128)) block=(128)
extern "C" __global__ void kl_divergence(const float* x, const float* z, float* loss, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows) {
        float x_largest = x[r * cols], z_largest = z[r * cols];
        for (int c = 1; c < cols; ++c) {
            x_largest = fmaxf(x_largest, x[r * cols + c]);
            z_largest = fmaxf(z_largest, z[r * cols + c]);
        }
        float x_total = 0.0f, z_total = 0.0f;
        for (int c = 0; c < cols; ++c) {
            x_total += expf(x[r * cols + c] - x_largest);
            z_total += expf(z[r * cols + c] - z_largest);
        }
        float x_log = logf(x_total), z_log = logf(z_total);
        float result = 0.0f;
        for (int c = 0; c < cols; ++c) {
            float log_p = x[r * cols + c] - x_largest - x_log;
            float log_q = z[r * cols + c] - z_largest - z_log;
            result += expf(log_p) * (log_p - log_q);
        }
        loss[r] = result;
    }
}
