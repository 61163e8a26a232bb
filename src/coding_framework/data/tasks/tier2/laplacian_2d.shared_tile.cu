// A block loads 8 x 32 cells with a rim of one into shared memory; zeros stand for what lies outside.
// launch: laplacian_2d grid=(ceil_div(width, 32), ceil_div(height, 8)) block=(32, 8)
extern "C" __global__ void laplacian_2d(const float* __restrict__ x, float* __restrict__ y, int height,
                                        int width) {
    __shared__ float tile[10][34];
    int tx = threadIdx.x, ty = threadIdx.y;
    for (int e = ty * 32 + tx; e < 340; e += 256) {
        int row = (int)blockIdx.y * 8 - 1 + e / 34, col = (int)blockIdx.x * 32 - 1 + e % 34;
        bool inside = row >= 0 && row < height && col >= 0 && col < width;
        tile[e / 34][e % 34] = inside ? x[row * width + col] : 0.0f;
    }
    __syncthreads();
    int r = blockIdx.y * 8 + ty, c = blockIdx.x * 32 + tx;
    if (r < height && c < width) {
        y[r * width + c] = tile[ty][tx + 1] + tile[ty + 2][tx + 1] + tile[ty + 1][tx] + tile[ty + 1][tx + 2] -
                           4.0f * tile[ty + 1][tx + 1];
    }
}
