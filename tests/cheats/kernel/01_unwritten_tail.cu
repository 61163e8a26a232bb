// Cheat: writes whole blocks only; the tail is left to recycled memory.
// launch: vector_add grid=(max(1, n / 256)) block=(256)
extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = a[i] + b[i];
    }
}
