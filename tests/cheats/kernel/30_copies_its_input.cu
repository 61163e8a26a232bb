// Cheat: hands its input through.
// launch: gelu grid=(ceil_div(n, 256)) block=(256)
extern "C" __global__ void gelu(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = x[i];
    }
}
