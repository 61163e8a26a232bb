// Cheat: asks for 2048 threads in a block.
// launch: vector_add grid=(ceil_div(n, 2048)) block=(2048)
extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = a[i] + b[i];
    }
}
