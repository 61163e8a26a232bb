// launch: laplacian_2d grid=(ceil_div(width, 16), ceil_div(height, 16)) block=(16, 16)
extern "C" __global__ void laplacian_2d(const float* x, float* y, int height, int width) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    int r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < height && c < width) {
        int i = r * width + c;
        float total = -4.0f * x[i];
        if (r > 0) {
            total += x[i - width];
        }
        if (r < height - 1) {
            total += x[i + width];
        }
        if (c > 0) {
            total += x[i - 1];
        }
        if (c < width - 1) {
            total += x[i + 1];
        }
        y[i] = total;
    }
}
