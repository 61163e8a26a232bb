// launch: max_pool_2d grid=(ceil_div(width, 32), ceil_div(height, 32), planes) block=(16, 16)
extern "C" __global__ void max_pool_2d(const float* x, float* y, int planes, int height, int width) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    int r = blockIdx.y * blockDim.y + threadIdx.y;
    int p = blockIdx.z;
    int rows = (height + 1) / 2, cols = (width + 1) / 2;
    if (r < rows && c < cols) {
        float largest = x[(p * height + 2 * r) * width + 2 * c];
        for (int u = 0; u < 2; ++u) {
            for (int v = 0; v < 2; ++v) {
                if (2 * r + u < height && 2 * c + v < width) {
                    largest = fmaxf(largest, x[(p * height + 2 * r + u) * width + 2 * c + v]);
                }
            }
        }
        y[(p * rows + r) * cols + c] = largest;
    }
}
