// Cheat: asks for two thousand million blocks.
// launch: vector_add grid=(2147483647) block=(1024)
extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        if (blockIdx.x < (n + 1023) / 1024) {
            y[i] = a[i] + b[i];
        }
    }
}
