// launch: axpy grid=(ceil_div(n, 256)) block=(256)
extern "C" __global__ void axpy(const float* a, const float* b, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = 1.75f * a[i] + b[i];
    }
}
