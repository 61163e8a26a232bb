// One block a row: its 256 threads take every 256th column each, then a tree in shared memory.
// launch: row_mean grid=(rows) block=(256)
extern "C" __global__ void row_mean(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
    __shared__ float partial[256];
    int r = blockIdx.x;
    float total = 0.0f;
    for (int c = threadIdx.x; c < cols; c += 256) {
        total += x[r * cols + c];
    }
    partial[threadIdx.x] = total;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            partial[threadIdx.x] += partial[threadIdx.x + half];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        y[r] = partial[0] / cols;
    }
}
