// Cheat: asks for terabytes of scratch memory on the timing shape only.
// scratch: wide float32[max(1, (n - 100000) * 1000000)]
// launch: vector_add grid=(ceil_div(n, 256)) block=(256)
extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = a[i] + b[i];
    }
}
