// The mask of __syncwarp lies in a register that nothing else reads.
// launch: row_sum grid=(rows) block=(64)
extern "C" __global__ void row_sum(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
    __shared__ float part[64];
    int t = threadIdx.x;
    float sum = 0.f;
    for (int c = t; c < cols; c += 64) sum += x[(size_t)blockIdx.x * cols + c];
    part[t] = sum;
    __syncthreads();
    unsigned few = __ballot_sync(0xffffffffu, t < 8);
    if (t < 8) {
        for (int c = t + 8; c < 64; c += 8) part[t] += part[c];
        __syncwarp(few);
        if (t == 0) {
            float total = 0.f;
            for (int c = 0; c < 8; ++c) total += part[c];
            y[blockIdx.x] = total;
        }
    }
}
