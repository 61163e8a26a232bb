// launch: matvec_transposed grid=(ceil_div(cols, 128)) block=(128)
extern "C" __global__ void matvec_transposed(const float* a, const float* x, float* y, int rows, int cols) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < cols) {
        float total = 0.0f;
        for (int r = 0; r < rows; ++r) {
            total += a[r * cols + c] * x[r];
        }
        y[c] = total;
    }
}
