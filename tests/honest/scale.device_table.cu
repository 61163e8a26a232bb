// A read-only table in device memory.
// launch: scale grid=(ceil_div(n, 256)) block=(256)
__device__ const float factors[2] = {2.5f, 2.5f};

extern "C" __global__ void scale(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = factors[i % 2] * x[i];
    }
}
