// Each thread computes 4 elements that lie one block apart: independent loads hide each other's latency.
// launch: hadamard grid=(ceil_div(n, 512)) block=(128)
__device__ __forceinline__ float product(float u, float v) {
    return u * v;
}

extern "C" __global__ void hadamard(const float* __restrict__ a, const float* __restrict__ b,
                                    float* __restrict__ y, int n) {
    int first = blockIdx.x * blockDim.x * 4 + threadIdx.x;
#pragma unroll
    for (int step = 0; step < 4; ++step) {
        int i = first + step * blockDim.x;
        if (i < n) {
            y[i] = product(a[i], b[i]);
        }
    }
}
