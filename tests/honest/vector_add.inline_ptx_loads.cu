// Loads through the read-only path, past L1.
// launch: vector_add grid=(ceil_div(n, 256)) block=(256)
__device__ __forceinline__ float load_once(const float* p) {
    float value;
    asm volatile("ld.global.nc.L1::no_allocate.f32 %0, [%1];" : "=f"(value) : "l"(p));
    return value;
}

extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = load_once(a + i) + load_once(b + i);
    }
}
