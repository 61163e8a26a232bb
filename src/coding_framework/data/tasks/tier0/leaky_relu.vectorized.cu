// With a slope below 1 the larger of v and slope * v is the result: no branch, four elements a thread.
// launch: leaky_relu grid=(ceil_div(n, 1024)) block=(256)
__device__ __forceinline__ float leaky(float v) {
    return fmaxf(v, 0.1f * v);
}

extern "C" __global__ void leaky_relu(const float* __restrict__ x, float* __restrict__ y, int n) {
    int start = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (start + 3 < n) {
        float4 x4 = *reinterpret_cast<const float4*>(x + start);
        *reinterpret_cast<float4*>(y + start) = make_float4(
            leaky(x4.x),
            leaky(x4.y),
            leaky(x4.z),
            leaky(x4.w));
    } else {
        for (int i = start; i < n; ++i) {
            y[i] = leaky(x[i]);
        }
    }
}
