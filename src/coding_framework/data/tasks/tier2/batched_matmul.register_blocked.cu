// One layer of blocks a matrix; 32 x 32 tiles, 8 x 32 threads, four rows a thread: the value of b that a
// thread reads serves four sums, and the values of a are broadcast to the warp.
// launch: batched_matmul grid=(ceil_div(n, 32), ceil_div(m, 32), batch) block=(32, 8)
extern "C" __global__ void batched_matmul(const float* __restrict__ a, const float* __restrict__ b,
                                          float* __restrict__ c, int batch, int m, int n, int k) {
    __shared__ float tile_a[32][32];
    __shared__ float tile_b[32][32];
    a += blockIdx.z * m * k;
    b += blockIdx.z * k * n;
    c += blockIdx.z * m * n;
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * 32, j = blockIdx.x * 32 + tx;
    float total[4] = {};
    for (int start = 0; start < k; start += 32) {
        for (int q = ty; q < 32; q += 8) {
            tile_a[q][tx] = row + q < m && start + tx < k ? a[(row + q) * k + start + tx] : 0.0f;
            tile_b[q][tx] = start + q < k && j < n ? b[(start + q) * n + j] : 0.0f;
        }
        __syncthreads();
        for (int p = 0; p < 32; ++p) {
            float value = tile_b[p][tx];
            for (int q = 0; q < 4; ++q) {
                total[q] += tile_a[ty + 8 * q][p] * value;
            }
        }
        __syncthreads();
    }
    for (int q = 0; q < 4; ++q) {
        int i = row + ty + 8 * q;
        if (i < m && j < n) {
            c[i * n + j] = total[q];
        }
    }
}
