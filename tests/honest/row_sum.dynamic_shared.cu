// launch: row_sum grid=(rows) block=(128) shared=4 * 128
extern "C" __global__ void row_sum(const float* x, float* y, int rows, int cols) {
    extern __shared__ float sums[];
    float total = 0.0f;
    for (int c = threadIdx.x; c < cols; c += 128) {
        total += x[blockIdx.x * cols + c];
    }
    sums[threadIdx.x] = total;
    __syncthreads();
    if (threadIdx.x < 32) {
        float mine = sums[threadIdx.x] + sums[threadIdx.x + 32] + sums[threadIdx.x + 64] + sums[threadIdx.x + 96];
        for (int offset = 16; offset > 0; offset /= 2) {
            mine += __shfl_down_sync(0xffffffff, mine, offset);
        }
        if (threadIdx.x == 0) {
            y[blockIdx.x] = mine;
        }
    }
}
