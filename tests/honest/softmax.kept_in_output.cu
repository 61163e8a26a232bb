// Writes the exponentials once and divides them in place.
// launch: softmax grid=(ceil_div(rows, 64)) block=(64)
extern "C" __global__ void softmax(const float* x, float* y, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows) {
        float largest = x[r * cols];
        for (int c = 1; c < cols; ++c) {
            largest = max(largest, x[r * cols + c]);
        }
        float total = 0.0f;
        for (int c = 0; c < cols; ++c) {
            float e = exp(x[r * cols + c] - largest);
            y[r * cols + c] = e;
            total += e;
        }
        for (int c = 0; c < cols; ++c) {
            y[r * cols + c] /= total;
        }
    }
}
