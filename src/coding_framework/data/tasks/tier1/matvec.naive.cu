// launch: matvec grid=(ceil_div(rows, 128)) block=(128)
extern "C" __global__ void matvec(const float* a, const float* x, float* y, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows) {
        float total = 0.0f;
        for (int c = 0; c < cols; ++c) {
            total += a[r * cols + c] * x[c];
        }
        y[r] = total;
    }
}
