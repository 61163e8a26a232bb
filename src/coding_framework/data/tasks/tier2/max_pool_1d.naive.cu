// launch: max_pool_1d grid=(ceil_div(n, 128), rows) block=(128)
extern "C" __global__ void max_pool_1d(const float* x, float* y, int rows, int n, int window) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int r = blockIdx.y;
    if (i < n) {
        float largest = x[r * (n + window - 1) + i];
        for (int t = 1; t < window; ++t) {
            largest = fmaxf(largest, x[r * (n + window - 1) + i + t]);
        }
        y[r * n + i] = largest;
    }
}
