// Cheat: one half of a warp waits for itself and reads what the other half wrote.
// launch: row_sum grid=(rows) block=(32)
extern "C" __global__ void row_sum(const float* x, float* y, int rows, int cols) {
    __shared__ float part[32];
    int lane = threadIdx.x;
    float sum = 0.0f;
    for (int c = lane; c < cols; c += 32) sum += x[(long long)blockIdx.x * cols + c];
    part[lane] = sum;
    if (lane < 16) {
        __syncwarp(0x0000ffffu);
        part[lane] = sum + part[lane + 16];
        __syncwarp(0x0000ffffu);
        if (lane == 0) {
            sum = 0.0f;
            for (int i = 0; i < 16; i++) sum += part[i];
            y[blockIdx.x] = sum;
        }
    } else {
        __syncwarp(0xffff0000u);
    }
}
