// Cheat: adds a busy kernel whose result nobody reads.
// scratch: aside float32[n]
// launch: busy grid=(ceil_div(n, 256)) block=(256) args=(a, aside, n)
// launch: vector_add grid=(ceil_div(n, 256)) block=(256)
extern "C" __global__ void busy(const float* a, float* aside, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        aside[i] = a[i] * a[i];
    }
}

extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = a[i] + b[i];
    }
}
