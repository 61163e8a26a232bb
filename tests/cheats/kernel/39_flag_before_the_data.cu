// Cheat: raises the flag behind a fence, and writes what it stands for after that.
// launch: row_sum grid=(rows) block=(64)
extern "C" __global__ void row_sum(const float* x, float* y, int rows, int cols) {
    __shared__ float part[32];
    __shared__ volatile int ready;
    if (threadIdx.x == 0) ready = 0;
    __syncthreads();
    float sum = 0.0f;
    for (int c = threadIdx.x; c < cols; c += 64) sum += x[(long long)blockIdx.x * cols + c];
    if (threadIdx.x < 32) {
        __threadfence_block();
        if (threadIdx.x == 0) ready = 1;
        part[threadIdx.x] = sum;
    } else {
        while (!ready) {}
        __threadfence_block();
        sum += part[threadIdx.x - 32];
        for (int o = 16; o; o >>= 1) sum += __shfl_xor_sync(~0u, sum, o);
        if (threadIdx.x == 32) y[blockIdx.x] = sum;
    }
}
