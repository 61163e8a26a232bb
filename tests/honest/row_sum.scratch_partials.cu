// scratch: partial float32[rows * 4]
// launch: quarter_sums grid=(ceil_div(rows * 4, 128)) block=(128) args=(x, partial, rows, cols)
// launch: add_quarters grid=(ceil_div(rows, 128)) block=(128) args=(partial, y, rows)
extern "C" __global__ void quarter_sums(const float* x, float* partial, int rows, int cols) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < rows * 4) {
        int r = at / 4;
        float total = 0.0f;
        for (int c = at % 4; c < cols; c += 4) {
            total += x[r * cols + c];
        }
        partial[at] = total;
    }
}

extern "C" __global__ void add_quarters(const float* partial, float* y, int rows) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows) {
        y[r] = (partial[4 * r] + partial[4 * r + 1]) + (partial[4 * r + 2] + partial[4 * r + 3]);
    }
}
