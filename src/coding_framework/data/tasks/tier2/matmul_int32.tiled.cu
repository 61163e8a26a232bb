// 16 x 16 tiles of a and b in shared memory: each element is read from global memory 16 times less.
// launch: matmul_int32 grid=(ceil_div(n, 16), ceil_div(m, 16)) block=(16, 16)
extern "C" __global__ void matmul_int32(const int* a, const int* b, int* c, int m, int n, int k) {
    __shared__ int tile_a[16][16];
    __shared__ int tile_b[16][16];
    int tx = threadIdx.x, ty = threadIdx.y;
    int i = blockIdx.y * 16 + ty;
    int j = blockIdx.x * 16 + tx;
    int total = 0;
    for (int start = 0; start < k; start += 16) {
        tile_a[ty][tx] = i < m && start + tx < k ? a[i * k + start + tx] : 0;
        tile_b[ty][tx] = j < n && start + ty < k ? b[(start + ty) * n + j] : 0;
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
