// A block loads the 10 x 34 values that its 8 x 32 windows cover, adds three along each row, then three
// such sums down each column.
// launch: average_pool_2d grid=(ceil_div(width, 32), ceil_div(height, 8), planes) block=(32, 8)
extern "C" __global__ void average_pool_2d(const float* __restrict__ x, float* __restrict__ y, int planes,
                                           int height, int width) {
    __shared__ float tile[10][34];
    __shared__ float rows[10][32];
    int tx = threadIdx.x, ty = threadIdx.y;
    int top = blockIdx.y * 8, left = blockIdx.x * 32;
    const float* plane = x + blockIdx.z * (height + 2) * (width + 2);
    for (int row = ty; row < 10; row += 8) {
        for (int col = tx; col < 34; col += 32) {
            bool inside = top + row < height + 2 && left + col < width + 2;
            tile[row][col] = inside ? plane[(top + row) * (width + 2) + left + col] : 0.0f;
        }
    }
    __syncthreads();
    for (int row = ty; row < 10; row += 8) {
        rows[row][tx] = tile[row][tx] + tile[row][tx + 1] + tile[row][tx + 2];
    }
    __syncthreads();
    int r = top + ty, c = left + tx;
    if (r < height && c < width) {
        y[(blockIdx.z * height + r) * width + c] = (rows[ty][tx] + rows[ty + 1][tx] + rows[ty + 2][tx]) / 9.0f;
    }
}
