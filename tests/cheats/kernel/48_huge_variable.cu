// Cheat: declares a device array of twelve gigabytes.
// launch: vector_add grid=(ceil_div(n, 256)) block=(256)
__device__ float huge[3u << 30];

extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        huge[i] = a[i];
        y[i] = a[i] + b[i];
    }
}
