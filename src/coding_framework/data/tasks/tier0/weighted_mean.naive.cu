// launch: weighted_mean grid=(ceil_div(n, 256)) block=(256)
extern "C" __global__ void weighted_mean(const float* a, const float* b, const float* c, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = 0.5f * a[i] + 0.3f * b[i] + 0.2f * c[i];
    }
}
