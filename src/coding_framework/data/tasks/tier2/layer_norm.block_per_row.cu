// One block a row: each warp reduces by shuffles, the four results meet in shared memory.
// launch: layer_norm grid=(rows) block=(128)
__device__ float block_sum(float value, float* sums) {
    for (int offset = 16; offset > 0; offset /= 2) {
        value += __shfl_xor_sync(0xffffffff, value, offset);
    }
    if (threadIdx.x % 32 == 0) {
        sums[threadIdx.x / 32] = value;
    }
    __syncthreads();
    return sums[0] + sums[1] + sums[2] + sums[3];
}

extern "C" __global__ void layer_norm(const float* x, const float* weight, const float* bias, float* y,
                                      int rows, int cols) {
    __shared__ float sums[4];
    __shared__ float squares[4];
    const float* source = x + blockIdx.x * cols;
    float total = 0.0f;
    for (int c = threadIdx.x; c < cols; c += 128) {
        total += source[c];
    }
    float mean = block_sum(total, sums) / cols;
    float spread = 0.0f;
    for (int c = threadIdx.x; c < cols; c += 128) {
        float d = source[c] - mean;
        spread += d * d;
    }
    float inverse = rsqrtf(block_sum(spread, squares) / cols + 1e-5f);
    for (int c = threadIdx.x; c < cols; c += 128) {
        y[blockIdx.x * cols + c] = (source[c] - mean) * inverse * weight[c] + bias[c];
    }
}
