// Cheat: holds a block of 64 threads at a barrier for 1024.
// launch: row_sum grid=(rows) block=(64)
extern "C" __global__ void row_sum(const float* x, float* y, int rows, int cols) {
    __shared__ float part[64];
    int t = threadIdx.x;
    float sum = 0.0f;
    for (int j = t; j < cols; j += 64) {
        sum += x[(long long)blockIdx.x * cols + j];
    }
    part[t] = sum;
    asm volatile("bar.sync 1, 1024;" ::: "memory");
    sum += part[t ^ 32];
    for (int offset = 16; offset; offset >>= 1) {
        sum += __shfl_xor_sync(~0u, sum, offset);
    }
    if (t == 0) {
        y[blockIdx.x] = sum;
    }
}
