// launch: conv2d_layer grid=(ceil_div(width, 16), ceil_div(height, 16), filters) block=(16, 16)
extern "C" __global__ void conv2d_layer(const float* x, const float* weight, float* y,
                                        int channels, int filters, int height, int width) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    int r = blockIdx.y * blockDim.y + threadIdx.y;
    int f = blockIdx.z;
    if (r < height && c < width) {
        float total = 0.0f;
        for (int q = 0; q < channels; ++q) {
            for (int u = 0; u < 3; ++u) {
                for (int v = 0; v < 3; ++v) {
                    int row = r + u - 1, col = c + v - 1;
                    if (row >= 0 && row < height && col >= 0 && col < width) {
                        total += weight[((f * channels + q) * 3 + u) * 3 + v] * x[(q * height + row) * width + col];
                    }
                }
            }
        }
        y[(f * height + r) * width + c] = total;
    }
}
