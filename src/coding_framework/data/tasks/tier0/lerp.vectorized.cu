// Four elements a thread through 16-byte loads; the last n % 4 elements one by one.
// launch: lerp grid=(ceil_div(n, 1024)) block=(256)
__device__ __forceinline__ float between(float u, float v, float w) {
    return fmaf(w, v - u, u);
}

extern "C" __global__ void lerp(const float* __restrict__ a, const float* __restrict__ b,
                                const float* __restrict__ t, float* __restrict__ y, int n) {
    int start = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (start + 3 < n) {
        float4 a4 = *reinterpret_cast<const float4*>(a + start);
        float4 b4 = *reinterpret_cast<const float4*>(b + start);
        float4 t4 = *reinterpret_cast<const float4*>(t + start);
        *reinterpret_cast<float4*>(y + start) = make_float4(
            between(a4.x, b4.x, t4.x),
            between(a4.y, b4.y, t4.y),
            between(a4.z, b4.z, t4.z),
            between(a4.w, b4.w, t4.w));
    } else {
        for (int i = start; i < n; ++i) {
            y[i] = between(a[i], b[i], t[i]);
        }
    }
}
