// 16 x 16 tiles in shared memory; tiles above the diagonal are never touched, and in the one on it what
// lies above is taken for zero.
// launch: triangular_product grid=(ceil_div(cols, 16), ceil_div(n, 16)) block=(16, 16)
extern "C" __global__ void triangular_product(const float* __restrict__ a, const float* __restrict__ b,
                                              float* __restrict__ c, int n, int cols) {
    __shared__ float tile_a[16][16];
    __shared__ float tile_b[16][16];
    int tx = threadIdx.x, ty = threadIdx.y;
    int i = blockIdx.y * 16 + ty;
    int j = blockIdx.x * 16 + tx;
    float total = 0.0f;
    for (int tile = 0; tile <= blockIdx.y; ++tile) {
        int start = tile * 16;
        tile_a[ty][tx] = i < n && start + tx <= i ? a[i * n + start + tx] : 0.0f;
        tile_b[ty][tx] = j < cols && start + ty < n ? b[(start + ty) * cols + j] : 0.0f;
        __syncthreads();
        for (int p = 0; p < 16; ++p) {
            total += tile_a[ty][p] * tile_b[p][tx];
        }
        __syncthreads();
    }
    if (i < n && j < cols) {
        c[i * cols + j] = total;
    }
}
