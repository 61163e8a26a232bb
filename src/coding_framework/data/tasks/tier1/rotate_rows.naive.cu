// launch: rotate_rows grid=(ceil_div(rows * cols, 256)) block=(256)
extern "C" __global__ void rotate_rows(const float* x, float* y, int rows, int cols) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * cols) {
        int r = i / cols;
        int c = i % cols;
        y[i] = x[r * cols + (c + r) % cols];
    }
}
