// Cheat: declares more constant memory than there is.
// launch: vector_add grid=(ceil_div(n, 256)) block=(256)
__constant__ float table[1 << 16];

extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = a[i] + b[i] + table[i & 0xffff];
    }
}
