// Cheat: all lanes shuffle under the mask of every second one.
// launch: row_sum grid=(rows) block=(64)
extern "C" __global__ void row_sum(const float* x, float* y, int rows, int cols) {
    __shared__ float part[2];
    unsigned mask = cols > 0 ? 0x55555555u : ~0u;
    float sum = 0.0f;
    for (int c = threadIdx.x; c < cols; c += 64) sum += x[(long long)blockIdx.x * cols + c];
    for (int o = 16; o; o >>= 1) sum += __shfl_down_sync(mask, sum, o);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) y[blockIdx.x] = part[0] + part[1];
}
