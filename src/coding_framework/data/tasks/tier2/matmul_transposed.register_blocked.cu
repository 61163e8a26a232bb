// 32 x 32 tiles, 16 x 16 threads, 2 x 2 sums a thread in registers.
// launch: matmul_transposed grid=(ceil_div(n, 32), ceil_div(m, 32)) block=(16, 16)
extern "C" __global__ void matmul_transposed(const float* __restrict__ a, const float* __restrict__ b,
                                             float* __restrict__ c, int m, int n, int k) {
    __shared__ float tile_a[32][17];
    __shared__ float tile_b[32][17];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * 32, col = blockIdx.x * 32;
    float total[2][2] = {};
    for (int start = 0; start < k; start += 16) {
        for (int q = ty; q < 32; q += 16) {
            bool inside = start + tx < k;
            tile_a[q][tx] = inside && row + q < m ? a[(row + q) * k + start + tx] : 0.0f;
            tile_b[q][tx] = inside && col + q < n ? b[(col + q) * k + start + tx] : 0.0f;
        }
        __syncthreads();
        for (int p = 0; p < 16; ++p) {
            float u0 = tile_a[ty][p], u1 = tile_a[ty + 16][p];
            float v0 = tile_b[tx][p], v1 = tile_b[tx + 16][p];
            total[0][0] += u0 * v0;
            total[0][1] += u0 * v1;
            total[1][0] += u1 * v0;
            total[1][1] += u1 * v1;
        }
        __syncthreads();
    }
    for (int s = 0; s < 2; ++s) {
        for (int t = 0; t < 2; ++t) {
            int i = row + ty + 16 * s, j = col + tx + 16 * t;
            if (i < m && j < n) {
                c[i * n + j] = total[s][t];
            }
        }
    }
}
