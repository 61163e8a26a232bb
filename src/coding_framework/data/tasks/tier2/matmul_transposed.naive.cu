// launch: matmul_transposed grid=(ceil_div(n, 16), ceil_div(m, 16)) block=(16, 16)
extern "C" __global__ void matmul_transposed(const float* a, const float* b, float* c, int m, int n, int k) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < m && j < n) {
        float total = 0.0f;
        for (int p = 0; p < k; ++p) {
            total += a[i * k + p] * b[j * k + p];
        }
        c[i * n + j] = total;
    }
}
