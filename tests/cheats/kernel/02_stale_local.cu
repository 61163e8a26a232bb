// Cheat: reads slots of a local array that it never wrote.
// launch: row_sum grid=(ceil_div(rows, 256)) block=(256)
extern "C" __global__ void row_sum(const float* x, float* y, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows) {
        volatile float slots[8];
        slots[r % 4] = 0.0f;
        for (int c = 0; c < cols; ++c) {
            slots[c % 8] += x[r * cols + c];
        }
        float total = 0.0f;
        for (int k = 0; k < 8; ++k) {
            total += slots[k];
        }
        y[r] = total;
    }
}
