// problem: stencil3
// say: A three-point stencil along each row of a row-major matrix: y[r][c] = 0.25 * left + 0.5 * x[r][c] + 0.25 * right,
// say: where a neighbour outside of the row counts as 0.
// dims: rows=2048 cols=2048
// input: x float32[rows, cols]
// output: y float32[rows, cols]
// launch: stencil3 grid=(ceil_div(rows, 32), ceil_div(cols, 8)) block=(32, 8)
extern "C" __global__ void stencil3(const float* x, float* y, int rows, int cols) {
    // One thread an element, but with neighbouring threads on neighbouring rows: far apart in memory.
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int col = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= rows || col >= cols) return;
    const float* line = x + row * cols;
    float left = col > 0 ? line[col - 1] : 0.0f;
    float right = col + 1 < cols ? line[col + 1] : 0.0f;
    y[row * cols + col] = 0.25f * left + 0.5f * line[col] + 0.25f * right;
}
