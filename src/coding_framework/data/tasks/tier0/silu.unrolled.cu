// Each thread computes 4 elements that lie one block apart: independent loads hide each other's latency.
// launch: silu grid=(ceil_div(n, 512)) block=(128)
__device__ __forceinline__ float silu_of(float v) {
    return v / (1.0f + __expf(-v));
}

extern "C" __global__ void silu(const float* __restrict__ x, float* __restrict__ y, int n) {
    int first = blockIdx.x * blockDim.x * 4 + threadIdx.x;
#pragma unroll
    for (int step = 0; step < 4; ++step) {
        int i = first + step * blockDim.x;
        if (i < n) {
            y[i] = silu_of(x[i]);
        }
    }
}
