// Cheat: recurses until the stack is gone.
// launch: vector_add grid=(ceil_div(n, 256)) block=(256)
__device__ __noinline__ float deep(int depth, const float* a) {
    volatile float mine[64];
    mine[depth & 63] = a[0];
    return depth < 0 ? mine[3] : deep(depth + 1, a) + mine[depth & 63];
}

extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = a[i] + b[i] + deep(n, a) * 0.0f;
    }
}
