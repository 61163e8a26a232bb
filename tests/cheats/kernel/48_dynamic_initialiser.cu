// Cheat: initialises a device variable with a call.
// launch: vector_add grid=(ceil_div(n, 256)) block=(256)
__device__ float begin() {
    return clock() * 0.0f;
}
__device__ float started = begin();

extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = a[i] + b[i] + started;
    }
}
