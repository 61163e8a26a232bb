// launch: interleave grid=(ceil_div(2 * n, 256)) block=(256)
extern "C" __global__ void interleave(const float* a, const float* b, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < 2 * n) {
        y[i] = i % 2 == 0 ? a[i / 2] : b[i / 2];
    }
}
