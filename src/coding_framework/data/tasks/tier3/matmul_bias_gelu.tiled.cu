// 16 x 16 tiles in shared memory; bias and GELU happen in the register that holds the sum.
// launch: matmul_bias_gelu grid=(ceil_div(n, 16), ceil_div(m, 16)) block=(16, 16)
extern "C" __global__ void matmul_bias_gelu(const float* a, const float* b, const float* bias, float* c,
                                            int m, int n, int k) {
    __shared__ float tile_a[16][16];
    __shared__ float tile_b[16][16];
    int tx = threadIdx.x, ty = threadIdx.y;
    int i = blockIdx.y * 16 + ty;
    int j = blockIdx.x * 16 + tx;
    float z = 0.0f;
    for (int start = 0; start < k; start += 16) {
        tile_a[ty][tx] = i < m && start + tx < k ? a[i * k + start + tx] : 0.0f;
        tile_b[ty][tx] = j < n && start + ty < k ? b[(start + ty) * n + j] : 0.0f;
        __syncthreads();
        for (int p = 0; p < 16; ++p) {
            z += tile_a[ty][p] * tile_b[p][tx];
        }
        __syncthreads();
    }
    if (i < m && j < n) {
        z += bias[j];
        c[i * n + j] = z / (1.0f + __expf(-1.5957691216f * (z + 0.044715f * z * z * z)));
    }
}
