// launch: outer_product grid=(ceil_div(cols, 16), ceil_div(rows, 16)) block=(16, 16)
extern "C" __global__ void outer_product(const float* a, const float* b, float* y, int rows, int cols) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    int r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < rows && c < cols) {
        y[r * cols + c] = a[r] * b[c];
    }
}
