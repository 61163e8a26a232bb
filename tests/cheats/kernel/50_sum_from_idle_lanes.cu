// Cheat: twelve lanes are left, and the sum counts what four of them get from lanes that are elsewhere.
// launch: row_sum grid=(rows) block=(384)
extern "C" __global__ void row_sum(const float* x, float* y, int rows, int cols) {
    __shared__ float part[12];
    float sum = 0.0f;
    for (int c = threadIdx.x; c < cols; c += 384) sum += x[(long long)blockIdx.x * cols + c];
    for (int o = 16; o; o >>= 1) sum += __shfl_xor_sync(~0u, sum, o);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 12) {
        sum = part[threadIdx.x];
        unsigned there = __activemask();
        for (int o = 8; o; o >>= 1) sum += __shfl_down_sync(there, sum, o);
        if (threadIdx.x == 0) y[blockIdx.x] = sum;
    }
}
