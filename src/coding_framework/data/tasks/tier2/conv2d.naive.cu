// launch: conv2d grid=(ceil_div(width, 16), ceil_div(height, 16)) block=(16, 16)
extern "C" __global__ void conv2d(const float* x, const float* weight, float* y, int height, int width) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    int r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < height && c < width) {
        float total = 0.0f;
        for (int u = 0; u < 5; ++u) {
            for (int v = 0; v < 5; ++v) {
                int row = r + u - 2, col = c + v - 2;
                if (row >= 0 && row < height && col >= 0 && col < width) {
                    total += weight[u * 5 + v] * x[row * width + col];
                }
            }
        }
        y[r * width + c] = total;
    }
}
