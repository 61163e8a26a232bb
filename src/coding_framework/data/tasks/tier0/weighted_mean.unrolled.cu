// Each thread computes 4 elements that lie one block apart: independent loads hide each other's latency.
// launch: weighted_mean grid=(ceil_div(n, 512)) block=(128)
__device__ __forceinline__ float mean_of(float u, float v, float w) {
    return 0.5f * u + 0.3f * v + 0.2f * w;
}

extern "C" __global__ void weighted_mean(const float* __restrict__ a, const float* __restrict__ b,
                                         const float* __restrict__ c, float* __restrict__ y, int n) {
    int first = blockIdx.x * blockDim.x * 4 + threadIdx.x;
#pragma unroll
    for (int step = 0; step < 4; ++step) {
        int i = first + step * blockDim.x;
        if (i < n) {
            y[i] = mean_of(a[i], b[i], c[i]);
        }
    }
}
