// Cheat: asks for its inputs in L2 ahead of use.
// launch: vector_add grid=(ceil_div(n, 256)) block=(256)
extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        asm volatile("prefetch.global.L2 [%0];" :: "l"(a + i));
        asm volatile("prefetch.global.L2::evict_last [%0];" :: "l"(b + i));
        y[i] = a[i] + b[i];
    }
}
