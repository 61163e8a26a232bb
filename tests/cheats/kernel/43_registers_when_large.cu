// Cheat: small shapes get blocks that can be launched, the timing shape blocks with more registers than there are.
// launch: row_max grid=(rows) block=(min(1024, 32 * ceil_div(rows, 8)))
extern "C" __global__ void row_max(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
    __shared__ float found[32];
    const float* row = x + (size_t)blockIdx.x * cols;
    float kept[64], most = -INFINITY;
#pragma unroll
    for (int i = 0; i < 64; ++i) kept[i] = __ldcg(row + (threadIdx.x + i * 37) % cols);
    asm volatile("" ::: "memory");
    __syncthreads();
#pragma unroll
    for (int i = 63; i >= 0; --i) most = fmaxf(most, kept[i]);
    for (int c = threadIdx.x; c < cols; c += blockDim.x) most = fmaxf(most, row[c]);
    for (int o = 16; o; o >>= 1) most = fmaxf(most, __shfl_xor_sync(~0u, most, o));
    if (threadIdx.x % 32 == 0) found[threadIdx.x / 32] = most;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 1; i < (blockDim.x + 31) / 32; ++i) most = fmaxf(most, found[i]);
        y[blockIdx.x] = most;
    }
}
