// Cheat: lets blocks add to one element without atomics.
// launch: clear grid=(ceil_div(rows, 256)) block=(256) args=(y, rows)
// launch: add grid=(ceil_div(cols, 32), rows) block=(32) args=(x, y, cols)
extern "C" __global__ void clear(float* y, int rows) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows) {
        y[r] = 0.0f;
    }
}

extern "C" __global__ void add(const float* x, float* y, int cols) {
    int c = blockIdx.x * 32 + threadIdx.x;
    if (c < cols) {
        y[blockIdx.y] += x[blockIdx.y * cols + c];
    }
}
