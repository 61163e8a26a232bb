// 32 x 32 tiles, 16 x 16 threads, 2 x 2 results a thread in registers: each value read from shared memory
// is used twice. The padding column spreads the stores of tile_a over the banks.
// launch: matmul_bias_gelu grid=(ceil_div(n, 32), ceil_div(m, 32)) block=(16, 16)
__device__ __forceinline__ float gelu(float z) {
    return z / (1.0f + __expf(-1.5957691216f * (z + 0.044715f * z * z * z)));
}

extern "C" __global__ void matmul_bias_gelu(const float* a, const float* b, const float* bias, float* c,
                                            int m, int n, int k) {
    __shared__ float tile_a[16][33];
    __shared__ float tile_b[16][32];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * 32 + ty, col = blockIdx.x * 32 + tx;
    float total[2][2] = {};
    for (int start = 0; start < k; start += 16) {
        for (int q = 0; q < 2; ++q) {
            int i = row + 16 * q, j = col + 16 * q;
            tile_a[tx][ty + 16 * q] = i < m && start + tx < k ? a[i * k + start + tx] : 0.0f;
            tile_b[ty][tx + 16 * q] = j < n && start + ty < k ? b[(start + ty) * n + j] : 0.0f;
        }
        __syncthreads();
        for (int p = 0; p < 16; ++p) {
            float u0 = tile_a[p][ty], u1 = tile_a[p][ty + 16];
            float v0 = tile_b[p][tx], v1 = tile_b[p][tx + 16];
            total[0][0] += u0 * v0;
            total[0][1] += u0 * v1;
            total[1][0] += u1 * v0;
            total[1][1] += u1 * v1;
        }
        __syncthreads();
    }
    for (int s = 0; s < 2; ++s) {
        for (int t = 0; t < 2; ++t) {
            int i = row + 16 * s, j = col + 16 * t;
            if (i < m && j < n) {
                c[i * n + j] = gelu(total[s][t] + bias[j]);
            }
        }
    }
}
