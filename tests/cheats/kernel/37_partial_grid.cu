// Cheat: launches a single block whatever the number of rows.
// launch: row_sum grid=(1) block=(256)
extern "C" __global__ void row_sum(const float* x, float* y, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows) {
        float total = 0.0f;
        for (int c = 0; c < cols; ++c) {
            total += x[r * cols + c];
        }
        y[r] = total;
    }
}
