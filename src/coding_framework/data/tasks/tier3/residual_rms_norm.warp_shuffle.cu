// One warp a row; each lane reads back only what it wrote to s itself.
// launch: residual_rms_norm grid=(ceil_div(rows, 4)) block=(128)
extern "C" __global__ void residual_rms_norm(const float* x, const float* residual, const float* weight,
                                             float* s, float* y, int rows, int cols) {
    int lane = threadIdx.x % 32;
    int r = blockIdx.x * 4 + threadIdx.x / 32;
    if (r < rows) {
        float total = 0.0f;
        for (int c = lane; c < cols; c += 32) {
            float value = x[r * cols + c] + residual[r * cols + c];
            s[r * cols + c] = value;
            total += value * value;
        }
        for (int offset = 16; offset > 0; offset /= 2) {
            total += __shfl_xor_sync(0xffffffff, total, offset);
        }
        float inverse = rsqrtf(total / cols + 1e-5f);
        for (int c = lane; c < cols; c += 32) {
            y[r * cols + c] = s[r * cols + c] * inverse * weight[c];
        }
    }
}
