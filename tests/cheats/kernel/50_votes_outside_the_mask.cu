// Cheat: a lane votes under a mask that does not name it.
// launch: row_sum grid=(rows) block=(32)
extern "C" __global__ void row_sum(const float* x, float* y, int rows, int cols) {
    float sum = 0.0f;
    int c = threadIdx.x;
    while (__any_sync(0x7fffffffu, c < cols)) {
        if (c < cols) sum += x[(long long)blockIdx.x * cols + c];
        c += 32;
    }
    for (int o = 16; o; o >>= 1) sum += __shfl_xor_sync(~0u, sum, o);
    if (threadIdx.x == 0) y[blockIdx.x] = sum;
}
