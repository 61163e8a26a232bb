// Cheat: declares a gigabyte of local memory in assembly, where no C++ compiler looks.
// launch: vector_add grid=(ceil_div(n, 256)) block=(256)
extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        asm volatile("{ .local .b8 big[1073741824]; }");
        y[i] = a[i] + b[i];
    }
}
