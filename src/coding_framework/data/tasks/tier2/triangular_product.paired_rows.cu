// A block does a strip of rows from the top and the one as far from the bottom, so that all blocks have
// the same work; tiles above the diagonal are never touched.
// launch: triangular_product grid=(ceil_div(cols, 32), ceil_div(ceil_div(n, 16), 2)) block=(32, 8)
__device__ void strip(const float* a, const float* b, float* c, int n, int cols, int row,
                      float (*tile_a)[16], float (*tile_b)[32]) {
    int tx = threadIdx.x, ty = threadIdx.y, j = blockIdx.x * 32 + tx;
    float total[2] = {};
    for (int start = 0; start < row + 16; start += 16) {
        {
            int q = ty * 32 + tx;
            int i = row + q / 16, p = start + q % 16;
            tile_a[q / 16][q % 16] = i < n && p <= i ? a[i * n + p] : 0.0f;
        }
        for (int q = ty; q < 16; q += 8) {
            tile_b[q][tx] = start + q < n && j < cols ? b[(start + q) * cols + j] : 0.0f;
        }
        __syncthreads();
        for (int p = 0; p < 16; ++p) {
            float value = tile_b[p][tx];
            total[0] += tile_a[ty][p] * value;
            total[1] += tile_a[ty + 8][p] * value;
        }
        __syncthreads();
    }
    for (int q = 0; q < 2; ++q) {
        int i = row + ty + 8 * q;
        if (i < n && j < cols) {
            c[i * cols + j] = total[q];
        }
    }
}

extern "C" __global__ void triangular_product(const float* __restrict__ a, const float* __restrict__ b,
                                              float* __restrict__ c, int n, int cols) {
    __shared__ float tile_a[16][16];
    __shared__ float tile_b[16][32];
    int strips = (n + 15) / 16;
    int upper = blockIdx.y, lower = strips - 1 - blockIdx.y;
    strip(a, b, c, n, cols, upper * 16, tile_a, tile_b);
    if (lower != upper) {
        strip(a, b, c, n, cols, lower * 16, tile_a, tile_b);
    }
}
