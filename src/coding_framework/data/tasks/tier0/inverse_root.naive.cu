// launch: inverse_root grid=(ceil_div(n, 256)) block=(256)
extern "C" __global__ void inverse_root(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = 1.0f / sqrtf(x[i] * x[i] + 0.25f);
    }
}
