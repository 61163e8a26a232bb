// launch: scale grid=(ceil_div(n, 64)) block=(4, 4, 4)
extern "C" __global__ void scale(const float* x, float* y, int n) {
    int inside = threadIdx.x + 4 * (threadIdx.y + 4 * threadIdx.z);
    int i = blockIdx.x * 64 + inside;
    if (i < n) {
        y[i] = x[i] * 2.5f;
    }
}
