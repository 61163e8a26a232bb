// launch: lerp grid=(ceil_div(n, 256)) block=(256)
extern "C" __global__ void lerp(const float* a, const float* b, const float* t, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = a[i] + t[i] * (b[i] - a[i]);
    }
}
