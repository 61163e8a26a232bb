// launch: row_max grid=(ceil_div(rows, 128)) block=(128)
extern "C" __global__ void row_max(const float* x, float* y, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows) {
        float largest = x[r * cols];
        for (int c = 1; c < cols; ++c) {
            largest = fmaxf(largest, x[r * cols + c]);
        }
        y[r] = largest;
    }
}
