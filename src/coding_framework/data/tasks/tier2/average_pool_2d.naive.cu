// launch: average_pool_2d grid=(ceil_div(width, 16), ceil_div(height, 16), planes) block=(16, 16)
extern "C" __global__ void average_pool_2d(const float* x, float* y, int planes, int height, int width) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    int r = blockIdx.y * blockDim.y + threadIdx.y;
    int p = blockIdx.z;
    if (r < height && c < width) {
        float total = 0.0f;
        for (int u = 0; u < 3; ++u) {
            for (int v = 0; v < 3; ++v) {
                total += x[(p * (height + 2) + r + u) * (width + 2) + c + v];
            }
        }
        y[(p * height + r) * width + c] = total / 9.0f;
    }
}
