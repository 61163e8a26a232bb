// 32 x 32 tiles, 16 x 16 threads, 2 x 2 results a thread; both tiles are stored turned and padded, so that
// loads run along k and the inner loop reads whole rows of shared memory.
// launch: linear_relu grid=(ceil_div(n, 32), ceil_div(m, 32)) block=(16, 16)
extern "C" __global__ void linear_relu(const float* x, const float* w, const float* bias, float* y, int m,
                                       int n, int k) {
    __shared__ float tile_x[16][33];
    __shared__ float tile_w[16][33];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * 32, col = blockIdx.x * 32;
    float total[2][2] = {};
    for (int start = 0; start < k; start += 16) {
        for (int q = ty; q < 32; q += 16) {
            bool inside = start + tx < k;
            tile_x[tx][q] = inside && row + q < m ? x[(row + q) * k + start + tx] : 0.0f;
            tile_w[tx][q] = inside && col + q < n ? w[(col + q) * k + start + tx] : 0.0f;
        }
        __syncthreads();
        for (int p = 0; p < 16; ++p) {
            float u0 = tile_x[p][ty], u1 = tile_x[p][ty + 16];
            float v0 = tile_w[p][tx], v1 = tile_w[p][tx + 16];
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
                y[i * n + j] = fmaxf(total[s][t] + bias[j], 0.0f);
            }
        }
    }
}
