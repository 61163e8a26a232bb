// A thread computes four pixels of a column: an input row that it reads serves up to four of them.
// launch: conv2d grid=(ceil_div(width, 32), ceil_div(height, 16)) block=(32, 4)
extern "C" __global__ void conv2d(const float* __restrict__ x, const float* __restrict__ weight,
                                  float* __restrict__ y, int height, int width) {
    __shared__ float tile[20][36];
    __shared__ float weights[25];
    int tx = threadIdx.x, ty = threadIdx.y, thread = ty * 32 + tx;
    int top = blockIdx.y * 16 - 2, left = blockIdx.x * 32 - 2;
    for (int row = ty; row < 20; row += 4) {
        for (int col = tx; col < 36; col += 32) {
            int r = top + row, c = left + col;
            bool inside = r >= 0 && r < height && c >= 0 && c < width;
            tile[row][col] = inside ? x[r * width + c] : 0.0f;
        }
    }
    if (thread < 25) {
        weights[thread] = weight[thread];
    }
    __syncthreads();
    float total[4] = {};
#pragma unroll
    for (int row = 0; row < 8; ++row) {
#pragma unroll
        for (int v = 0; v < 5; ++v) {
            float value = tile[ty * 4 + row][tx + v];
#pragma unroll
            for (int q = 0; q < 4; ++q) {
                if (row - q >= 0 && row - q < 5) {
                    total[q] += weights[(row - q) * 5 + v] * value;
                }
            }
        }
    }
    int c = blockIdx.x * 32 + tx;
    for (int q = 0; q < 4; ++q) {
        int r = blockIdx.y * 16 + ty * 4 + q;
        if (r < height && c < width) {
            y[r * width + c] = total[q];
        }
    }
}
