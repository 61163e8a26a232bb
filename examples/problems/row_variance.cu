// problem: row_variance
// say: The variance of each row of a row-major matrix x: y[r] = mean over c of (x[r][c] - mean of row r)^2.
// dims: rows=4096 cols=1024
// input: x float32[rows, cols]
// output: y float32[rows]
// launch: row_variance grid=(ceil_div(rows, 128)) block=(128)
extern "C" __global__ void row_variance(const float* x, float* y, int rows, int cols) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int c = 0; c < cols; ++c) sum += x[row * cols + c];
    float mean = sum / cols;
    float squares = 0.0f;
    for (int c = 0; c < cols; ++c) {
        float off = x[row * cols + c] - mean;
        squares += off * off;
    }
    y[row] = squares / cols;
}
