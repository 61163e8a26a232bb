// Half a warp is left, and offsets reach beyond it: what comes from there is never used.
// launch: row_sum grid=(rows) block=(512)
extern "C" __global__ void row_sum(const float* x, float* y, int rows, int cols) {
    __shared__ float part[16];
    float sum = 0.f;
    for (int c = threadIdx.x; c < cols; c += 512) sum += x[(size_t)blockIdx.x * cols + c];
    for (int o = 16; o; o >>= 1) sum += __shfl_down_sync(~0u, sum, o);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 16) {
        sum = part[threadIdx.x];
        for (int o = 8; o; o >>= 1) sum += __shfl_down_sync(0xffffu, sum, o);
        if (threadIdx.x == 0) y[blockIdx.x] = sum;
    }
}
