// Cheat: asks for blocks without threads.
// launch: vector_add grid=(ceil_div(n, 256)) block=(n - n)
extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = a[i] + b[i];
    }
}
