// Both tiles are loaded along the rows, so global reads are whole lines; the padding column lets a warp
// read tile_b down its rows without bank conflicts.
// launch: matmul_transposed grid=(ceil_div(n, 16), ceil_div(m, 16)) block=(16, 16)
extern "C" __global__ void matmul_transposed(const float* __restrict__ a, const float* __restrict__ b,
                                             float* __restrict__ c, int m, int n, int k) {
    __shared__ float tile_a[16][16];
    __shared__ float tile_b[16][17];
    int tx = threadIdx.x, ty = threadIdx.y;
    int i = blockIdx.y * 16 + ty;
    int j = blockIdx.x * 16 + ty;
    float total = 0.0f;
    for (int start = 0; start < k; start += 16) {
        tile_a[ty][tx] = i < m && start + tx < k ? a[i * k + start + tx] : 0.0f;
        tile_b[ty][tx] = j < n && start + tx < k ? b[j * k + start + tx] : 0.0f;
        __syncthreads();
        for (int p = 0; p < 16; ++p) {
            total += tile_a[ty][p] * tile_b[tx][p];
        }
        __syncthreads();
    }
    int column = blockIdx.x * 16 + tx;
    if (i < m && column < n) {
        c[i * n + column] = total;
    }
}
