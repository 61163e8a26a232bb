// One warp a row; ballots tell whether any lane has work left.
// launch: layer_norm grid=(rows) block=(32)
__device__ float warp_sum(float value) {
#pragma unroll
    for (int offset = 16; offset > 0; offset >>= 1) {
        value += __shfl_xor_sync(0xffffffff, value, offset);
    }
    return value;
}

extern "C" __global__ void layer_norm(const float* x, const float* weight, const float* bias, float* y, int rows, int cols) {
    const float* row = x + blockIdx.x * cols;
    float total = 0.0f;
    for (int c = threadIdx.x; __any_sync(0xffffffff, c < cols); c += 32) {
        total += c < cols ? row[c] : 0.0f;
    }
    float mean = warp_sum(total) / cols;
    float squares = 0.0f;
    for (int c = threadIdx.x; __any_sync(0xffffffff, c < cols); c += 32) {
        float centred = c < cols ? row[c] - mean : 0.0f;
        squares += centred * centred;
    }
    float scale = rsqrtf(warp_sum(squares) / cols + 1e-5f);
    for (int c = threadIdx.x; c < cols; c += 32) {
        y[blockIdx.x * cols + c] = (row[c] - mean) * scale * weight[c] + bias[c];
    }
}
