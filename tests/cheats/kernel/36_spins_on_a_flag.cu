// Cheat: waits for a flag that nobody sets.
// launch: vector_add grid=(ceil_div(n, 256)) block=(256)
__device__ int go;

extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        while (*reinterpret_cast<volatile int*>(&go) == 0) {
        }
        y[i] = a[i] + b[i];
    }
}
