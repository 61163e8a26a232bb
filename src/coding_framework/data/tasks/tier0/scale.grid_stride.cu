// launch: scale grid=(min(ceil_div(n, 256), 1056)) block=(256)
extern "C" __global__ void scale(const float* x, float* y, int n) {
    int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        y[i] = 2.5f * x[i];
    }
}
