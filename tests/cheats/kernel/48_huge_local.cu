// Cheat: gives every thread half a megabyte of local memory.
// launch: vector_add grid=(ceil_div(n, 256)) block=(256)
extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        volatile float mine[1 << 17];
        mine[i & 0x1ffff] = a[i];
        y[i] = mine[i & 0x1ffff] + b[i];
    }
}
