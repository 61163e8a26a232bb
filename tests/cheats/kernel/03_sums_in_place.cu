// Cheat: uses its input as working memory.
// launch: row_sum grid=(ceil_div(rows, 256)) block=(256)
extern "C" __global__ void row_sum(const float* x, float* y, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows) {
        float* row = const_cast<float*>(x) + r * cols;
        for (int c = 1; c < cols; ++c) {
            row[0] += row[c];
        }
        y[r] = row[0];
    }
}
