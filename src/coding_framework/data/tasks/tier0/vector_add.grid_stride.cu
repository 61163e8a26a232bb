// launch: vector_add grid=(min(ceil_div(n, 256), 1056)) block=(256)
extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int n) {
    int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        y[i] = a[i] + b[i];
    }
}
