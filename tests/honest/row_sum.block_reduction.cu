// launch: row_sum grid=(rows) block=(256)
extern "C" __global__ void row_sum(const float* x, float* y, int rows, int cols) {
    __shared__ float sums[256];
    float total = 0.0f;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) {
        total += x[blockIdx.x * cols + c];
    }
    sums[threadIdx.x] = total;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half >>= 1) {
        if (threadIdx.x < half) {
            sums[threadIdx.x] += sums[threadIdx.x + half];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        y[blockIdx.x] = sums[0];
    }
}
