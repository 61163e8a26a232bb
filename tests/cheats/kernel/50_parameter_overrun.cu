// Cheat: reads past the kernel's parameters.
// launch: vector_add grid=(ceil_div(n, 256)) block=(256)
extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        unsigned far;
        asm volatile("ld.param.u32 %0, [vector_add_param_3+4096];" : "=r"(far));
        y[i] = far == 0xdeadbeef ? 0.0f : a[i] + b[i];
    }
}
