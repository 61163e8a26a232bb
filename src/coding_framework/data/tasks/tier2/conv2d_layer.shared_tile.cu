// One block a filter and 16 x 16 pixels; channel by channel the pixels come with their rim of one and the
// nine weights into shared memory.
// launch: conv2d_layer grid=(ceil_div(width, 16), ceil_div(height, 16), filters) block=(16, 16)
extern "C" __global__ void conv2d_layer(const float* __restrict__ x, const float* __restrict__ weight,
                                        float* __restrict__ y, int channels, int filters, int height,
                                        int width) {
    __shared__ float tile[18][18];
    __shared__ float weights[9];
    int tx = threadIdx.x, ty = threadIdx.y, thread = ty * 16 + tx;
    int r = blockIdx.y * 16 + ty, c = blockIdx.x * 16 + tx, f = blockIdx.z;
    float total = 0.0f;
    for (int q = 0; q < channels; ++q) {
        for (int e = thread; e < 324; e += 256) {
            int row = (int)blockIdx.y * 16 - 1 + e / 18, col = (int)blockIdx.x * 16 - 1 + e % 18;
            bool inside = row >= 0 && row < height && col >= 0 && col < width;
            tile[e / 18][e % 18] = inside ? x[(q * height + row) * width + col] : 0.0f;
        }
        if (thread < 9) {
            weights[thread] = weight[(f * channels + q) * 9 + thread];
        }
        __syncthreads();
        for (int u = 0; u < 3; ++u) {
            for (int v = 0; v < 3; ++v) {
                total += weights[u * 3 + v] * tile[ty + u][tx + v];
            }
        }
        __syncthreads();
    }
    if (r < height && c < width) {
        y[(f * height + r) * width + c] = total;
    }
}
