// A block loads 8 x 32 pixels of a channel with a rim of one; zeros stand for what lies outside.
// launch: depthwise_conv2d grid=(ceil_div(width, 32), ceil_div(height, 8), channels) block=(32, 8)
extern "C" __global__ void depthwise_conv2d(const float* __restrict__ x, const float* __restrict__ weight,
                                            float* __restrict__ y, int channels, int height, int width) {
    __shared__ float tile[10][34];
    __shared__ float weights[9];
    int tx = threadIdx.x, ty = threadIdx.y, thread = ty * 32 + tx;
    int q = blockIdx.z;
    for (int e = thread; e < 340; e += 256) {
        int row = (int)blockIdx.y * 8 - 1 + e / 34, col = (int)blockIdx.x * 32 - 1 + e % 34;
        bool inside = row >= 0 && row < height && col >= 0 && col < width;
        tile[e / 34][e % 34] = inside ? x[(q * height + row) * width + col] : 0.0f;
    }
    if (thread < 9) {
        weights[thread] = weight[q * 9 + thread];
    }
    __syncthreads();
    int r = blockIdx.y * 8 + ty, c = blockIdx.x * 32 + tx;
    if (r < height && c < width) {
        float total = 0.0f;
        for (int u = 0; u < 3; ++u) {
            for (int v = 0; v < 3; ++v) {
                total += weights[u * 3 + v] * tile[ty + u][tx + v];
            }
        }
        y[(q * height + r) * width + c] = total;
    }
}
