// launch: column_softmax grid=(ceil_div(cols, 128)) block=(128)
extern "C" __global__ void column_softmax(const float* x, float* y, int rows, int cols) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < cols) {
        float largest = x[c];
        for (int r = 1; r < rows; ++r) {
            largest = fmaxf(largest, x[r * cols + c]);
        }
        float total = 0.0f;
        for (int r = 0; r < rows; ++r) {
            total += expf(x[r * cols + c] - largest);
        }
        for (int r = 0; r < rows; ++r) {
            y[r * cols + c] = expf(x[r * cols + c] - largest) / total;
        }
    }
}
