// launch: conv1d grid=(ceil_div(n, 256)) block=(256)
extern "C" __global__ void conv1d(const float* x, const float* weight, float* y, int n, int taps) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float total = 0.0f;
        for (int t = 0; t < taps; ++t) {
            total += weight[t] * x[i + t];
        }
        y[i] = total;
    }
}
