// Both passes in one launch: the block's pixels with a rim of two, blurred along the rows within shared
// memory, then down the columns into global memory.
// launch: separable_blur grid=(ceil_div(width, 32), ceil_div(height, 16)) block=(32, 8)
extern "C" __global__ void separable_blur(const float* __restrict__ x, float* __restrict__ y, int height,
                                          int width) {
    __shared__ float tile[20][36];
    __shared__ float rows[20][32];
    int tx = threadIdx.x, ty = threadIdx.y;
    int top = blockIdx.y * 16 - 2, left = blockIdx.x * 32 - 2;
    for (int row = ty; row < 20; row += 8) {
        for (int col = tx; col < 36; col += 32) {
            int r = top + row, c = left + col;
            bool inside = r >= 0 && r < height && c >= 0 && c < width;
            tile[row][col] = inside ? x[r * width + c] : 0.0f;
        }
    }
    __syncthreads();
    for (int row = ty; row < 20; row += 8) {
        const float* t = &tile[row][tx];
        rows[row][tx] = 0.0625f * (t[0] + t[4]) + 0.25f * (t[1] + t[3]) + 0.375f * t[2];
    }
    __syncthreads();
    int c = blockIdx.x * 32 + tx;
    for (int q = ty; q < 16; q += 8) {
        int r = blockIdx.y * 16 + q;
        if (r < height && c < width) {
            y[r * width + c] = 0.0625f * (rows[q][tx] + rows[q + 4][tx]) +
                               0.25f * (rows[q + 1][tx] + rows[q + 3][tx]) + 0.375f * rows[q + 2][tx];
        }
    }
}
