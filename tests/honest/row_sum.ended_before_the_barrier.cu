// Threads without an element end before the barrier: they count as arrived.
// launch: row_sum grid=(rows) block=(1024)
extern "C" __global__ void row_sum(const float* x, float* y, int rows, int cols) {
    __shared__ float part[32];
    if (threadIdx.x / 32 * 32 >= cols && threadIdx.x >= 32) return;
    float sum = 0.f;
    for (int c = threadIdx.x; c < cols; c += 1024) sum += x[(size_t)blockIdx.x * cols + c];
    for (int o = 16; o; o >>= 1) sum += __shfl_xor_sync(~0u, sum, o);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        float total = 0.f;
        for (int w = 0; w < min(32, (cols + 31) / 32); w++) total += part[w];
        y[blockIdx.x] = total;
    }
}
