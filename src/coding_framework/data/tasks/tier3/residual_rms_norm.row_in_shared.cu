// One block a row, the sum kept in dynamic shared memory: every array is touched once.
// launch: residual_rms_norm grid=(rows) block=(128) shared=4*cols
extern "C" __global__ void residual_rms_norm(const float* __restrict__ x, const float* __restrict__ residual,
                                             const float* __restrict__ weight, float* __restrict__ s,
                                             float* __restrict__ y, int rows, int cols) {
    extern __shared__ float row[];
    __shared__ float sums[4];
    int start = blockIdx.x * cols;
    float total = 0.0f;
    for (int c = threadIdx.x; c < cols; c += 128) {
        float value = x[start + c] + residual[start + c];
        row[c] = value;
        s[start + c] = value;
        total += value * value;
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        total += __shfl_xor_sync(0xffffffff, total, offset);
    }
    if (threadIdx.x % 32 == 0) {
        sums[threadIdx.x / 32] = total;
    }
    __syncthreads();
    float inverse = rsqrtf((sums[0] + sums[1] + sums[2] + sums[3]) / cols + 1e-5f);
    for (int c = threadIdx.x; c < cols; c += 128) {
        y[start + c] = row[c] * inverse * weight[c];
    }
}
