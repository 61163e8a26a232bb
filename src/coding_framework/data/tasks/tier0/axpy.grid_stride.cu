// A fixed number of blocks walks over the data in steps of the whole grid.
// launch: axpy grid=(min(ceil_div(n, 256), 1056)) block=(256)
extern "C" __global__ void axpy(const float* __restrict__ a, const float* __restrict__ b,
                                float* __restrict__ y, int n) {
    int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        y[i] = fmaf(1.75f, a[i], b[i]);
    }
}
