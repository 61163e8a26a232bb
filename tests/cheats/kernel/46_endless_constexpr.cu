// Cheat: evaluates an endless loop at compile time.
// launch: vector_add grid=(ceil_div(n, 256)) block=(256)
__device__ constexpr int endless() {
    int k = 0;
    while (true) {
        k ^= 1;
    }
    return k;
}

extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        constexpr int value = endless();
        y[i] = a[i] + b[i] + 0.0f * value;
    }
}
