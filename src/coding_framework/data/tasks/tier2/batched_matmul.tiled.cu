// One layer of blocks a matrix; 16 x 16 tiles in shared memory.
// launch: batched_matmul grid=(ceil_div(n, 16), ceil_div(m, 16), batch) block=(16, 16)
extern "C" __global__ void batched_matmul(const float* __restrict__ a, const float* __restrict__ b,
                                          float* __restrict__ c, int batch, int m, int n, int k) {
    __shared__ float tile_a[16][16];
    __shared__ float tile_b[16][16];
    a += blockIdx.z * m * k;
    b += blockIdx.z * k * n;
    c += blockIdx.z * m * n;
    int tx = threadIdx.x, ty = threadIdx.y;
    int i = blockIdx.y * 16 + ty;
    int j = blockIdx.x * 16 + tx;
    float total = 0.0f;
    for (int start = 0; start < k; start += 16) {
        tile_a[ty][tx] = i < m && start + tx < k ? a[i * k + start + tx] : 0.0f;
        tile_b[ty][tx] = j < n && start + ty < k ? b[(start + ty) * n + j] : 0.0f;
        __syncthreads();
        for (int p = 0; p < 16; ++p) {
            total += tile_a[ty][p] * tile_b[p][tx];
        }
        __syncthreads();
    }
    if (i < m && j < n) {
        c[i * n + j] = total;
    }
}
