// launch: triangular_product grid=(ceil_div(cols, 16), ceil_div(n, 16)) block=(16, 16)
extern "C" __global__ void triangular_product(const float* a, const float* b, float* c, int n, int cols) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < n && j < cols) {
        float total = 0.0f;
        for (int p = 0; p <= i; ++p) {
            total += a[i * n + p] * b[p * cols + j];
        }
        c[i * cols + j] = total;
    }
}
