// Four elements a thread, and a multiplication by 1 / 6 instead of the division.
// launch: hard_swish grid=(ceil_div(n, 1024)) block=(256)
__device__ __forceinline__ float hard_swish_of(float v) {
    return v * (fminf(fmaxf(v + 3.0f, 0.0f), 6.0f) * 0.16666667f);
}

extern "C" __global__ void hard_swish(const float* __restrict__ x, float* __restrict__ y, int n) {
    int start = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (start + 3 < n) {
        float4 x4 = *reinterpret_cast<const float4*>(x + start);
        *reinterpret_cast<float4*>(y + start) = make_float4(
            hard_swish_of(x4.x),
            hard_swish_of(x4.y),
            hard_swish_of(x4.z),
            hard_swish_of(x4.w));
    } else {
        for (int i = start; i < n; ++i) {
            y[i] = hard_swish_of(x[i]);
        }
    }
}
