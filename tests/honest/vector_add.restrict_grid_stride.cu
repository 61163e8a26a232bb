// launch: vector_add grid=(min(1024, ceil_div(n, 256))) block=(256)
extern "C" __global__ void vector_add(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        y[i] = a[i] + b[i];
    }
}
