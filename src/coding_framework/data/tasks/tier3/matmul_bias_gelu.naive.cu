// launch: matmul_bias_gelu grid=(ceil_div(n, 16), ceil_div(m, 16)) block=(16, 16)
extern "C" __global__ void matmul_bias_gelu(const float* a, const float* b, const float* bias, float* c,
                                            int m, int n, int k) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < m && j < n) {
        float z = bias[j];
        for (int p = 0; p < k; ++p) {
            z += a[i * k + p] * b[p * n + j];
        }
        float inner = 0.7978845608f * (z + 0.044715f * z * z * z);
        c[i * n + j] = 0.5f * z * (1.0f + tanhf(inner));
    }
}
