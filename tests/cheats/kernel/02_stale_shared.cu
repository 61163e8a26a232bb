// Cheat: adds into shared memory that it never set, hoping for zeros.
// launch: row_sum grid=(rows) block=(128)
extern "C" __global__ void row_sum(const float* x, float* y, int rows, int cols) {
    __shared__ float total;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) {
        atomicAdd(&total, x[blockIdx.x * cols + c]);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        y[blockIdx.x] = total;
    }
}
