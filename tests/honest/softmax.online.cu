// One pass for maximum and sum together.
// launch: softmax grid=(ceil_div(rows, 128)) block=(128)
extern "C" __global__ void softmax(const float* x, float* y, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows) {
        const float* row = x + r * cols;
        float largest = -INFINITY, total = 0.0f;
        for (int c = 0; c < cols; ++c) {
            float next = fmaxf(largest, row[c]);
            total = total * expf(largest - next) + expf(row[c] - next);
            largest = next;
        }
        for (int c = 0; c < cols; ++c) {
            y[r * cols + c] = expf(row[c] - largest) / total;
        }
    }
}
