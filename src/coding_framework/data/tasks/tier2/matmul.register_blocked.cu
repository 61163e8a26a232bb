// 64 x 64 tiles, 16 x 16 threads, 4 x 4 results a thread in registers: each value read from shared
// memory is used four times. The padding column spreads the stores of tile_a over the banks.
// launch: matmul grid=(ceil_div(n, 64), ceil_div(m, 64)) block=(16, 16)
extern "C" __global__ void matmul(const float* a, const float* b, float* c, int m, int n, int k) {
    __shared__ float tile_a[16][65];
    __shared__ float tile_b[16][64];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * 64, col = blockIdx.x * 64;
    float total[4][4] = {};
    for (int start = 0; start < k; start += 16) {
        for (int q = 0; q < 4; ++q) {
            int i = row + ty + 16 * q;
            int j = col + tx + 16 * q;
            tile_a[tx][ty + 16 * q] = i < m && start + tx < k ? a[i * k + start + tx] : 0.0f;
            tile_b[ty][tx + 16 * q] = j < n && start + ty < k ? b[(start + ty) * n + j] : 0.0f;
        }
        __syncthreads();
        for (int p = 0; p < 16; ++p) {
            float u[4], v[4];
            for (int q = 0; q < 4; ++q) {
                u[q] = tile_a[p][ty + 16 * q];
                v[q] = tile_b[p][tx + 16 * q];
            }
            for (int s = 0; s < 4; ++s) {
                for (int t = 0; t < 4; ++t) {
                    total[s][t] += u[s] * v[t];
                }
            }
        }
        __syncthreads();
    }
    for (int s = 0; s < 4; ++s) {
        for (int t = 0; t < 4; ++t) {
            int i = row + ty + 16 * s;
            int j = col + tx + 16 * t;
            if (i < m && j < n) {
                c[i * n + j] = total[s][t];
            }
        }
    }
}
