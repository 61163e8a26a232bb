// Reads places of shared memory that it never wrote, and drops what it read there.
// launch: row_sum grid=(rows) block=(96)
extern "C" __global__ void row_sum(const float* x, float* y, int rows, int cols) {
    __shared__ float sums[128];
    float s = 0.f;
    for (int c = threadIdx.x; c < cols; c += 96) s += x[(size_t)blockIdx.x * cols + c];
    sums[threadIdx.x] = s;
    __syncthreads();
    for (int half = 64; half; half >>= 1) {
        float other = threadIdx.x < 64 ? sums[threadIdx.x + half] : 0.f;
        __syncthreads();
        if (threadIdx.x < half) sums[threadIdx.x] += threadIdx.x + half < 96 ? other : 0.f;
        __syncthreads();
    }
    if (threadIdx.x == 0) y[blockIdx.x] = sums[0];
}
