// A thread computes one pixel of four filters: the nine inputs that it takes from shared memory for a
// channel serve all four.
// launch: conv2d_layer grid=(ceil_div(width, 32), ceil_div(height, 8), ceil_div(filters, 4)) block=(32, 8)
extern "C" __global__ void conv2d_layer(const float* __restrict__ x, const float* __restrict__ weight,
                                        float* __restrict__ y, int channels, int filters, int height,
                                        int width) {
    __shared__ float tile[10][34];
    __shared__ float weights[4][9];
    int tx = threadIdx.x, ty = threadIdx.y, thread = ty * 32 + tx;
    int first = blockIdx.z * 4;
    float total[4] = {};
    for (int q = 0; q < channels; ++q) {
        for (int e = thread; e < 340; e += 256) {
            int row = (int)blockIdx.y * 8 - 1 + e / 34, col = (int)blockIdx.x * 32 - 1 + e % 34;
            bool inside = row >= 0 && row < height && col >= 0 && col < width;
            tile[e / 34][e % 34] = inside ? x[(q * height + row) * width + col] : 0.0f;
        }
        if (thread < 36) {
            int f = first + thread / 9;
            weights[thread / 9][thread % 9] = f < filters ? weight[(f * channels + q) * 9 + thread % 9] : 0.0f;
        }
        __syncthreads();
        for (int u = 0; u < 3; ++u) {
            for (int v = 0; v < 3; ++v) {
                float value = tile[ty + u][tx + v];
                for (int s = 0; s < 4; ++s) {
                    total[s] += weights[s][u * 3 + v] * value;
                }
            }
        }
        __syncthreads();
    }
    int r = blockIdx.y * 8 + ty, c = blockIdx.x * 32 + tx;
    for (int s = 0; s < 4; ++s) {
        if (first + s < filters && r < height && c < width) {
            y[((first + s) * height + r) * width + c] = total[s];
        }
    }
}
