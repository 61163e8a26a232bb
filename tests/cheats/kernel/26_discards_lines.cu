// Cheat: throws the cached lines of its output away after writing them.
// launch: vector_add grid=(ceil_div(n, 256)) block=(256)
extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = a[i] + b[i];
        __threadfence();
        if (i % 32 == 0 && i + 32 <= n) {
            asm volatile("discard.global.L2 [%0], 128;" :: "l"(y + i) : "memory");
        }
    }
}
