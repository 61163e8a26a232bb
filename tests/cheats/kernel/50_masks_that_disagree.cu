// Cheat: lanes that shuffle together give masks of their own, all of which name the first lane.
// launch: row_sum grid=(rows) block=(32)
extern "C" __global__ void row_sum(const float* x, float* y, int rows, int cols) {
    int lane = threadIdx.x;
    float sum = 0.0f;
    for (int c = lane; c < cols; c += 32) sum += x[(long long)blockIdx.x * cols + c];
    for (int o = 16; o; o >>= 1) sum += __shfl_xor_sync(~0u, sum, o);
    sum = __shfl_sync(1u | 1u << lane, sum, 0);
    if (lane == 31) y[blockIdx.x] = sum;
}
