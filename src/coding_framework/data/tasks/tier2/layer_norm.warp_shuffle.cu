// One warp a row; mean and variance travel through shuffles.
// launch: layer_norm grid=(ceil_div(rows, 4)) block=(128)
__device__ __forceinline__ float warp_sum(float value) {
    for (int offset = 16; offset > 0; offset /= 2) {
        value += __shfl_xor_sync(0xffffffff, value, offset);
    }
    return value;
}

extern "C" __global__ void layer_norm(const float* x, const float* weight, const float* bias, float* y,
                                      int rows, int cols) {
    int lane = threadIdx.x % 32;
    int r = blockIdx.x * 4 + threadIdx.x / 32;
    if (r < rows) {
        float total = 0.0f;
        for (int c = lane; c < cols; c += 32) {
            total += x[r * cols + c];
        }
        float mean = warp_sum(total) / cols;
        float squares = 0.0f;
        for (int c = lane; c < cols; c += 32) {
            float d = x[r * cols + c] - mean;
            squares += d * d;
        }
        float inverse = rsqrtf(warp_sum(squares) / cols + 1e-5f);
        for (int c = lane; c < cols; c += 32) {
            y[r * cols + c] = (x[r * cols + c] - mean) * inverse * weight[c] + bias[c];
        }
    }
}
