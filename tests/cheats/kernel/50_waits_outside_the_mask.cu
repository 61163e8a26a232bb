// Cheat: a whole warp calls __syncwarp with the mask of its half.
// launch: row_sum grid=(rows) block=(32)
extern "C" __global__ void row_sum(const float* x, float* y, int rows, int cols) {
    __shared__ float part[32];
    float sum = 0.0f;
    for (int c = threadIdx.x; c < cols; c += 32) sum += x[(long long)blockIdx.x * cols + c];
    part[threadIdx.x] = sum;
    __syncwarp(0x0000ffffu);
    if (threadIdx.x == 0) {
        for (int i = 1; i < 32; i++) sum += part[i];
        y[blockIdx.x] = sum;
    }
}
