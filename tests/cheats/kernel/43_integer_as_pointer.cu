// Cheat: passes a number where the kernel expects a pointer.
// launch: vector_add grid=(ceil_div(n, 256)) block=(256) args=(1099511627776, b, y, n)
extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = a[i] + b[i];
    }
}
