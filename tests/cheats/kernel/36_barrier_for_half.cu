// Cheat: holds half a block at a barrier that the other half never reaches.
// launch: vector_add grid=(ceil_div(n, 256)) block=(256)
extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x < 128) {
        asm volatile("bar.sync 1, 256;");
    }
    if (i < n) {
        y[i] = a[i] + b[i];
    }
}
