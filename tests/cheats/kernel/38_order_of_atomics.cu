// Cheat: lets the order in which atomics arrive choose how the sum is rounded.
// launch: clear grid=(ceil_div(rows, 256)) block=(256) args=(y, rows)
// launch: add grid=(rows) block=(256) args=(x, y, cols)
extern "C" __global__ void clear(float* y, int rows) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows) {
        y[r] = 0.0f;
    }
}

extern "C" __global__ void add(const float* x, float* y, int cols) {
    for (int c = threadIdx.x; c < cols; c += blockDim.x) {
        atomicAdd(&y[blockIdx.x], x[blockIdx.x * cols + c]);
    }
}
