// Both tiles are loaded along the rows, so global reads are whole lines; the padding column lets a warp
// read tile_y down its rows without bank conflicts.
// launch: pairwise_distance grid=(ceil_div(n, 16), ceil_div(m, 16)) block=(16, 16)
extern "C" __global__ void pairwise_distance(const float* __restrict__ x, const float* __restrict__ y,
                                             float* __restrict__ d, int m, int n, int k) {
    __shared__ float tile_x[16][16];
    __shared__ float tile_y[16][17];
    int tx = threadIdx.x, ty = threadIdx.y;
    int i = blockIdx.y * 16 + ty;
    int j = blockIdx.x * 16 + ty;
    float total = 0.0f;
    for (int start = 0; start < k; start += 16) {
        tile_x[ty][tx] = i < m && start + tx < k ? x[i * k + start + tx] : 0.0f;
        tile_y[ty][tx] = j < n && start + tx < k ? y[j * k + start + tx] : 0.0f;
        __syncthreads();
        for (int p = 0; p < 16; ++p) {
            float difference = tile_x[ty][p] - tile_y[tx][p];
            total += difference * difference;
        }
        __syncthreads();
    }
    int column = blockIdx.x * 16 + tx;
    if (i < m && column < n) {
        d[i * n + column] = total;
    }
}
