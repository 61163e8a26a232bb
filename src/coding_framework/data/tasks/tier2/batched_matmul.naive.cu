// launch: batched_matmul grid=(ceil_div(n, 16), ceil_div(m, 16), batch) block=(16, 16)
extern "C" __global__ void batched_matmul(const float* a, const float* b, float* c, int batch, int m, int n, int k) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    int s = blockIdx.z;
    if (i < m && j < n) {
        float total = 0.0f;
        for (int p = 0; p < k; ++p) {
            total += a[(s * m + i) * k + p] * b[(s * k + p) * n + j];
        }
        c[(s * m + i) * n + j] = total;
    }
}
