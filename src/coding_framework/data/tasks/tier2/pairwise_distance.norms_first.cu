// |x - y|^2 = |x|^2 + |y|^2 - 2 x.y: one warp a point sums the squares into scratch, then a tiled product
// needs one fused operation a coordinate instead of two. No distance may come out below zero.
// scratch: squares float32[m + n]
// launch: square_lengths grid=(ceil_div(m + n, 8)) block=(256) args=(x, y, squares, m, n, k)
// launch: combine grid=(ceil_div(n, 16), ceil_div(m, 16)) block=(16, 16) args=(x, y, squares, d, m, n, k)
extern "C" __global__ void square_lengths(const float* __restrict__ x, const float* __restrict__ y,
                                          float* __restrict__ squares, int m, int n, int k) {
    int lane = threadIdx.x % 32;
    int point = blockIdx.x * 8 + threadIdx.x / 32;
    if (point >= m + n) {
        return;
    }
    const float* source = point < m ? x + point * k : y + (point - m) * k;
    float total = 0.0f;
    for (int p = lane; p < k; p += 32) {
        total += source[p] * source[p];
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        total += __shfl_down_sync(0xffffffff, total, offset);
    }
    if (lane == 0) {
        squares[point] = total;
    }
}

extern "C" __global__ void combine(const float* __restrict__ x, const float* __restrict__ y,
                                   const float* __restrict__ squares, float* __restrict__ d, int m, int n,
                                   int k) {
    __shared__ float tile_x[16][16];
    __shared__ float tile_y[16][17];
    int tx = threadIdx.x, ty = threadIdx.y;
    int i = blockIdx.y * 16 + ty;
    int j = blockIdx.x * 16 + ty;
    float product = 0.0f;
    for (int start = 0; start < k; start += 16) {
        tile_x[ty][tx] = i < m && start + tx < k ? x[i * k + start + tx] : 0.0f;
        tile_y[ty][tx] = j < n && start + tx < k ? y[j * k + start + tx] : 0.0f;
        __syncthreads();
        for (int p = 0; p < 16; ++p) {
            product += tile_x[ty][p] * tile_y[tx][p];
        }
        __syncthreads();
    }
    int column = blockIdx.x * 16 + tx;
    if (i < m && column < n) {
        d[i * n + column] = fmaxf(squares[i] + squares[m + column] - 2.0f * product, 0.0f);
    }
}
