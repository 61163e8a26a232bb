// Compensated summation.
// launch: row_sum grid=(ceil_div(rows, 64)) block=(64)
extern "C" __global__ void row_sum(const float* x, float* y, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows) {
        float total = 0.0f, lost = 0.0f;
        for (int c = 0; c < cols; ++c) {
            float term = __fsub_rn(x[r * cols + c], lost);
            float next = __fadd_rn(total, term);
            lost = __fsub_rn(__fsub_rn(next, total), term);
            total = next;
        }
        y[r] = total;
    }
}
